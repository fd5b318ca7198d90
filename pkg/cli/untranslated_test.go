package cli

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"k8s.io/kubectl/pkg/util/i18n"
)

// TestUntranslated: kubectl's translations are not loaded, which would take half of the start. Once
// they are, their loader can not be replaced any more.
func TestUntranslated(t *testing.T) {
	loader := runtime.FuncForPC(reflect.ValueOf(i18n.LoadTranslationsFunc).Pointer()).Name()
	if !strings.Contains(loader, "SetLoadTranslationsFunc") {
		t.Errorf("translations are loaded by %s", loader)
	}
}
