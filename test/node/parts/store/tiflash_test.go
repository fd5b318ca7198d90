package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ngaut/unistore/pd"
	"github.com/pingcap/kvproto/pkg/metapb"
)

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTiFlashReadsTheFilesOfItsPod(t *testing.T) {
	proxy := writeFile(t, "proxy.toml", `log-level = "WARN"
[server]
engine-addr = "f-0.peer:3930"
advertise-status-addr = "f-0.peer:20292"
status-addr = "0.0.0.0:20292"
`)
	config := writeFile(t, "config.toml", `tmp_path = "/data0/tmp"
[flash]
service_addr = "0.0.0.0:3930"
[flash.flash_cluster]
log = "/data0/logs/flash_cluster_manager.log"
[flash.proxy]
addr = "0.0.0.0:20170"
advertise-addr = "f-0.peer:20170"
data-dir = "/data0/proxy"
config = "`+proxy+`"
[logger]
log = "/data0/logs/server.log"
errorlog = "/data0/logs/error.log"
[raft]
pd_addr = "pd.ns.svc:2379"
`)
	got, err := parseTiFlash([]string{"server", "--config-file", config})
	want := options{
		pd: []string{"pd.ns.svc:2379"}, address: "0.0.0.0:20170", service: "0.0.0.0:3930", metrics: "0.0.0.0:8234",
		advertise: "f-0.peer:3930", peer: "f-0.peer:20170", status: "0.0.0.0:20292", advertiseStatus: "f-0.peer:20292",
		dataDir: "/data0/proxy", config: proxy, logLevel: "warn", logFile: "/data0/logs/server.log",
		otherFiles: []string{"/data0/logs/error.log", "/data0/logs/flash_cluster_manager.log"},
		labels:     map[string]string{"engine": "tiflash"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestTiFlashTakesWhatComesAfterItsConfiguration(t *testing.T) {
	config := writeFile(t, "config_templ.toml", "[flash.proxy]\naddr = '0.0.0.0:20170'\n")
	got, err := parseTiFlash([]string{
		"server", "--config-file", config, "--", "--flash.proxy.advertise-addr", "f-0.peer:20170",
		"--flash.proxy.advertise-status-addr=f-0.peer:20292", "--flash.service_addr", "f-0.peer:3930",
		"--raft.pd_addr", "a:2379,b:2379", "--labels", "zone=a",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.advertise != "f-0.peer:3930" || got.peer != "f-0.peer:20170" || got.advertiseStatus != "f-0.peer:20292" ||
		!reflect.DeepEqual(got.pd, []string{"a:2379", "b:2379"}) || got.labels["zone"] != "a" || got.labels["engine"] != "tiflash" {
		t.Errorf("%+v", got)
	}
}

func TestTiFlashRefuses(t *testing.T) {
	bad := writeFile(t, "config.toml", "[flash\n")
	proxy := writeFile(t, "config.toml", "[flash.proxy]\nconfig = '/nonexistent'\n")
	good := writeFile(t, "config.toml", "")
	for _, arguments := range [][]string{
		nil, {"client"}, {"server"}, {"server", "--config-file", bad}, {"server", "--config-file", proxy}, {"server", "word"},
		{"server", "--config-file", good, "--", "--labels", "zone"},
	} {
		if _, err := parseTiFlash(arguments); err == nil {
			t.Errorf("%q was accepted", arguments)
		}
	}
	if got, err := parseTiFlash([]string{"version"}); err != nil || !got.printVersion {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStatusOfTiFlash(t *testing.T) {
	for engine, want := range map[string]string{tiflashName: "Running", "": "404 page not found\n"} {
		recorder := httptest.NewRecorder()
		statusHandler(options{labels: map[string]string{"engine": engine}}).ServeHTTP(
			recorder, httptest.NewRequest("GET", "/tiflash/store-status", nil))
		if recorder.Body.String() != want {
			t.Errorf("%q: %q", engine, recorder.Body)
		}
	}
}

func TestFilesForOtherContainersAreCreated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "error.log")
	for range [2]int{} {
		if err := createFiles("", path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// storeList is a PD that knows one store.
type storeList struct {
	pd.Client
	store *metapb.Store
}

func (s storeList) GetStore(context.Context, uint64) (*metapb.Store, error) { return s.store, nil }

func (s storeList) PutStore(_ context.Context, store *metapb.Store) error {
	*s.store = *store
	return nil
}

func TestStoresTalkToThePeerAddress(t *testing.T) {
	known := storeList{store: &metapb.Store{}}
	p := &placement{Client: known, peer: "f-0.peer:20170"}
	if err := p.PutStore(context.Background(), &metapb.Store{Address: "f-0.peer:3930"}); err != nil {
		t.Fatal(err)
	}
	if known.store.Address != "f-0.peer:3930" || known.store.PeerAddress != "f-0.peer:20170" {
		t.Errorf("registered %+v", known.store)
	}
	got, err := p.GetStore(context.Background(), 1)
	if err != nil || got.Address != "f-0.peer:20170" || known.store.Address != "f-0.peer:3930" {
		t.Errorf("%+v, %v", got, err)
	}
	plain := &placement{Client: storeList{store: &metapb.Store{Address: "s-0.peer:20160"}}}
	if got, err := plain.GetStore(context.Background(), 1); err != nil || got.Address != "s-0.peer:20160" {
		t.Errorf("%+v, %v", got, err)
	}
}
