// Command store is a stand-in for tikv-server: a multi-raft store that speaks TiKV's protocol, built from a Go library.
// It takes TiKV's command line, registers in PD under the version of its image, and reports how many regions it leads.
// Of TiKV's configuration it reads [security] only. Under the name tiflash it takes TiFlash's command line instead.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pingcap/kvproto/pkg/deadlock"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"github.com/pingcap/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/zhangjinpeng1987/raft"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/parts/store/security"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/parts/store/transfer"
)

// versionVariable is set by the image, since all versions of the image share one program.
const versionVariable = "STORE_VERSION"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tikv-server:", err)
		os.Exit(1)
	}
}

func run() error {
	parse := parseOptions
	if filepath.Base(os.Args[0]) == tiflashName {
		parse = parseTiFlash
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	version := releaseVersion(os.Getenv(versionVariable))
	if o.printVersion {
		fmt.Printf("TiKV\nRelease Version:   %s\nEdition:           Fixture\n", version)
		return nil
	}
	if o.checkOnly {
		return nil
	}
	if len(o.pd) == 0 {
		return fmt.Errorf("no address of PD; give one with --pd")
	}
	files, err := security.Read(o.config)
	if err != nil {
		return err
	}
	security.Use(files)
	if err := createFiles(append(o.otherFiles, o.logFile)...); err != nil {
		return err
	}
	if err := setUpLog(o); err != nil {
		return err
	}
	log.Info("welcome to the store", zap.String("version", version), zap.Strings("arguments", os.Args))
	return runStore(o, version)
}

func runStore(o options, version string) error {
	go limitMemory()
	client := &placement{
		Client: connect(o.pd), version: version, peer: o.peer, status: o.advertiseStatus, started: time.Now(),
	}
	forbidJointConsensus(o.pd)
	store, observed, err := start(o, newConfig(o), client)
	if err != nil {
		return err
	}
	server := newGRPCServer()
	tikvpb.RegisterTikvServer(server, splitting{Server: store, placement: client})
	(&transfer.Server{Store: store, Placement: client, ID: client.id.Load, Leads: observed.leads}).Register(server)
	deadlock.RegisterDeadlockServer(server, store)
	prometheus.MustRegister(observed)
	for _, address := range nonEmpty(o.status, o.metrics) {
		if err := serveStatus(address, statusHandler(o)); err != nil {
			return err
		}
	}
	endOnSignal(server)
	if err := serve(server, nonEmpty(o.address, o.service)); err != nil {
		return err
	}
	store.Stop()
	log.Info("the store has stopped")
	return nil
}

func nonEmpty(addresses ...string) []string {
	var found []string
	for _, address := range addresses {
		if address != "" {
			found = append(found, address)
		}
	}
	return found
}

// serve answers requests until the server is stopped.
func serve(server *grpc.Server, addresses []string) error {
	ended := make(chan error, len(addresses))
	for _, address := range addresses {
		listener, err := net.Listen("tcp", listenAddress(address))
		if err != nil {
			return fmt.Errorf("listen for requests: %w", err)
		}
		go func() { ended <- server.Serve(listener) }()
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("serve requests: %w", err)
	}
	return nil
}

// releaseVersion brings an image's tag into the form in which TiKV registers its version.
func releaseVersion(tag string) string {
	if tag == "" {
		return "8.1.0"
	}
	return strings.TrimPrefix(tag, "v")
}

// listenAddress keeps only the port: the address that a pod is known by may not be its own yet when it starts.
func listenAddress(address string) string {
	return address[strings.LastIndexByte(address, ':'):]
}

type raftLog struct{ *zap.SugaredLogger }

// Warning implements raft.Logger.
func (l raftLog) Warning(values ...interface{}) { l.Warn(values...) }

// Warningf implements raft.Logger.
func (l raftLog) Warningf(format string, values ...interface{}) { l.Warnf(format, values...) }

func setUpLog(o options) error {
	logger, properties, err := log.InitLogger(&log.Config{
		Level: o.logLevel, File: log.FileLogConfig{Filename: o.logFile},
	})
	if err != nil {
		return fmt.Errorf("set up the log: %w", err)
	}
	log.ReplaceGlobals(logger, properties)
	raft.SetLogger(raftLog{logger.Sugar()})
	return nil
}

func newGRPCServer() *grpc.Server {
	const window, largestMessage = 1 << 30, 10 << 20
	return grpc.NewServer(append(security.Serve(),
		// TiDB pings its stores often, also when it has nothing to ask.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 2 * time.Second, PermitWithoutStream: true}),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window), grpc.MaxRecvMsgSize(largestMessage),
	)...)
}

func statusHandler(o options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/status", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/metrics", promhttp.Handler())
	if o.labels["engine"] == tiflashName {
		mux.HandleFunc("/tiflash/store-status", func(out http.ResponseWriter, _ *http.Request) { fmt.Fprint(out, "Running") })
	}
	return mux
}

func serveStatus(address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", listenAddress(address))
	if err != nil {
		return fmt.Errorf("listen for requests of the status: %w", err)
	}
	go func() { log.Fatal("serve the status", zap.Error(http.Serve(security.Listen(listener), handler))) }()
	return nil
}

func endOnSignal(server *grpc.Server) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		log.Info("asked to end", zap.Stringer("signal", <-signals))
		server.Stop()
		// What is not written now is in the raft log of other stores.
		time.Sleep(3 * time.Second)
		log.Warn("stopping takes too long, ending")
		os.Exit(0)
	}()
}
