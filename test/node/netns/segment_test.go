package netns

import "testing"

func TestBridgesOfASegmentDiffer(t *testing.T) {
	for address, want := range map[string]string{
		"10.88.0.1/14":   "0a:58:0a:58:00:01",
		"10.89.240.1/14": "0a:58:0a:59:f0:01",
	} {
		if got, err := bridgeMAC(address); err != nil || got != want {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
	if _, err := bridgeMAC("10.88.0.1"); err == nil {
		t.Error("an address without a prefix length was accepted")
	}
}
