package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestParseOptionsOfAStartScript(t *testing.T) {
	config := filepath.Join(t.TempDir(), "tikv.toml")
	if err := os.WriteFile(config, []byte("[anything]\nwhat = true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	parsed, err := parseOptions([]string{
		"--pd=http://basic-pd:2379,http://other:2379", "--advertise-addr=store-0.peer.ns.svc:20160", "--addr=0.0.0.0:20160",
		"--status-addr", "0.0.0.0:20180", "--advertise-status-addr=store-0.peer.ns.svc:20180",
		"--data-dir=/var/lib/tikv", "--capacity=10GB", "--config", config, "-L", "WARN", "--labels=zone=a,host=b",
		"--some-new-flag=1", "--another", "value", "-V",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := options{
		pd:      []string{"http://basic-pd:2379", "http://other:2379"},
		address: "0.0.0.0:20160", advertise: "store-0.peer.ns.svc:20160",
		status: "0.0.0.0:20180", advertiseStatus: "store-0.peer.ns.svc:20180",
		dataDir: "/var/lib/tikv", config: config, logLevel: "warn", capacity: 10 << 30,
		labels: map[string]string{"zone": "a", "host": "b"}, printVersion: true,
	}
	if !reflect.DeepEqual(parsed, want) {
		t.Errorf("got  %+v\nwant %+v", parsed, want)
	}
}

func TestParseOptionsDefaults(t *testing.T) {
	parsed, err := parseOptions([]string{"-A", "1.2.3.4:5"})
	if err != nil || parsed.advertise != "1.2.3.4:5" || parsed.advertiseStatus != "127.0.0.1:20180" {
		t.Errorf("got %+v, %v", parsed, err)
	}
}

func TestParseOptionsErrors(t *testing.T) {
	for _, arguments := range [][]string{
		{"word"}, {"--pd"}, {"--addr", "--pd=x"}, {"--"}, {"--capacity=much"}, {"--labels=zone"},
		{"--config=/nonexistent/file"},
	} {
		if _, err := parseOptions(arguments); err == nil {
			t.Errorf("%q was accepted", arguments)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "5368709120": 5 << 30, "10GB": 10 << 30, "10GiB": 10 << 30, "100 MB": 100 << 20, "1K": 1 << 10,
		"0.5KiB": 512, "12B": 12, "3TB": 3 << 40,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GB", "-1GB", "10XB", "1GMB", "ten"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d", text, got)
		}
	}
}

func TestListenAddress(t *testing.T) {
	for address, want := range map[string]string{"store-0.peer:20160": ":20160", "[::1]:20160": ":20160"} {
		if got := listenAddress(address); got != want {
			t.Errorf("listenAddress(%q) = %q", address, got)
		}
	}
}

func TestReleaseVersion(t *testing.T) {
	for tag, want := range map[string]string{"v8.1.1": "8.1.1", "": "8.1.0", "7.5.0": "7.5.0"} {
		if got := releaseVersion(tag); got != want {
			t.Errorf("releaseVersion(%q) = %q", tag, got)
		}
	}
}
