package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestCapacity: a limit means the same as it is written in a file and as the API
// server returns it, or the pods would be restarted for nothing.
func TestCapacity(t *testing.T) {
	for text, want := range map[string]string{
		"10Gi": "10GB", "1.5Gi": "1536MB", "1536Mi": "1536MB", "0.5Gi": "512MB", "1.5G": "1430MB", "1500M": "1430MB",
		"2048Mi": "2GB", "1.5": "0", "0": "0GB",
	} {
		written := resource.MustParse(text)
		returned := resource.MustParse(written.String())
		for _, q := range []resource.Quantity{written, returned} {
			if got := capacity(corev1.ResourceList{corev1.ResourceStorage: q}); got != want {
				t.Errorf("%s (%s): %q, want %q", text, q.String(), got, want)
			}
		}
	}
	if got := capacity(nil); got != "0" {
		t.Errorf("no limit: %q", got)
	}
}
