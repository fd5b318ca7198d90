package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"context"
	"github.com/ngaut/unistore/config"
	"github.com/ngaut/unistore/lockstore"
	"github.com/ngaut/unistore/pd"
	"github.com/ngaut/unistore/tikv"
	"github.com/ngaut/unistore/tikv/mvcc"
	"github.com/ngaut/unistore/tikv/raftstore"
	"github.com/pingcap/badger"
)

const mib = 1 << 20

// newConfig sizes the engines for tests: the defaults are for a large machine that runs one store.
func newConfig(o options) *config.Config {
	conf := config.DefaultConf
	conf.Server.Raft = true
	conf.Server.StoreAddr = o.advertise
	conf.Server.StatusAddr = o.status
	conf.Server.LogLevel = o.logLevel
	conf.Server.LogfilePath = o.logFile
	conf.Engine.DBPath = o.dataDir
	conf.Engine.MaxMemTableSize = 16 * mib
	conf.Engine.VlogFileSize = 64 * mib
	conf.Engine.NumCompactors = 1
	// Compacting at the end makes every restart wait for it.
	conf.Engine.CompactL0WhenClose = false
	return &conf
}

// newRaftConfig uses TiKV's own intervals for heartbeats and elections, so that timing is like the real one's.
func newRaftConfig(o options, conf *config.Config) *raftstore.Config {
	raftConf := raftstore.NewDefaultConfig()
	raftConf.Addr = o.advertise
	raftConf.AdvertiseAddr = o.advertise
	raftConf.Capacity = o.capacity
	raftConf.SnapPath = filepath.Join(o.dataDir, "snap")
	raftConf.RaftStoreMaxLeaderLease = config.ParseDuration(conf.RaftStore.RaftStoreMaxLeaderLease)
	raftConf.SplitCheck.RegionMaxKeys = uint64(conf.Coprocessor.RegionMaxKeys)
	raftConf.SplitCheck.RegionSplitKeys = uint64(conf.Coprocessor.RegionSplitKeys)
	raftConf.GrpcKeepAliveTimeout = 3 * time.Second // as TiKV: a connection to a host that is gone ends, and a new one is made
	for key, value := range o.labels {
		raftConf.Labels = append(raftConf.Labels, raftstore.StoreLabel{LabelKey: key, LabelValue: value})
	}
	return raftConf
}

func engineOptions(conf *config.Engine, folder string) badger.Options {
	opts := badger.DefaultOptions
	opts.Dir, opts.ValueDir = folder, folder
	opts.NumCompactors = conf.NumCompactors
	opts.ValueThreshold = conf.ValueThreshold
	opts.ValueLogWriteOptions.WriteBufferSize = 4 * mib
	opts.ValueLogFileSize = conf.VlogFileSize
	opts.ValueLogMaxNumFiles = 3
	opts.MaxMemTableSize = conf.MaxMemTableSize
	opts.TableBuilderOptions.MaxTableSize = conf.MaxTableSize
	opts.TableBuilderOptions.SuRFStartLevel = conf.SurfStartLevel
	opts.NumMemtables = conf.NumMemTables
	opts.NumLevelZeroTables = conf.NumL0Tables
	opts.NumLevelZeroTablesStall = conf.NumL0TablesStall
	opts.LevelOneSize = conf.L1Size
	opts.CompactL0WhenClose = conf.CompactL0WhenClose
	// The pages survive the end of the process, and a machine's crash ends the test anyway.
	opts.SyncWrites = false
	return opts
}

// openEngines opens the store's two databases and brings the locks of unfinished transactions back into memory.
func openEngines(conf *config.Config, safePoint *tikv.SafePoint, timestamp uint64) (*raftstore.Engines, *mvcc.DBBundle, error) {
	kvPath, raftPath := filepath.Join(conf.Engine.DBPath, "kv"), filepath.Join(conf.Engine.DBPath, "raft")
	for _, folder := range []string{kvPath, raftPath, filepath.Join(conf.Engine.DBPath, "snap")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, nil, fmt.Errorf("create a folder of the store: %w", err)
		}
	}
	kvOptions := engineOptions(&conf.Engine, kvPath)
	kvOptions.ManagedTxns = true
	kvOptions.CompactionFilterFactory = safePoint.CreateCompactionFilter
	kv, err := badger.Open(kvOptions)
	if err != nil {
		return nil, nil, fmt.Errorf("open the data in %s: %w", kvPath, err)
	}
	raftOptions := engineOptions(&conf.Engine, raftPath)
	raftOptions.ValueThreshold = 0
	raftOptions.CompactionFilterFactory = raftstore.CreateRaftLogCompactionFilter
	logs, err := badger.Open(raftOptions)
	if err != nil {
		return nil, nil, fmt.Errorf("open the raft log in %s: %w", raftPath, err)
	}
	bundle := &mvcc.DBBundle{DB: kv, LockStore: lockstore.NewMemStore(8 * mib), StateTS: timestamp}
	meta, err := bundle.LockStore.LoadFromFile(filepath.Join(kvPath, raftstore.LockstoreFileName))
	if err != nil {
		return nil, nil, fmt.Errorf("load the locks: %w", err)
	}
	var offset uint64
	if meta != nil {
		offset = binary.LittleEndian.Uint64(meta)
	}
	if err := raftstore.RestoreLockStore(offset, bundle, logs); err != nil {
		return nil, nil, fmt.Errorf("restore the locks from the raft log: %w", err)
	}
	return raftstore.NewEngines(bundle, logs, kvPath, raftPath), bundle, nil
}

// start assembles the store from the library's pieces. The library can do so itself, but lets nobody observe regions.
func start(o options, conf *config.Config, client *placement) (*tikv.Server, *regions, error) {
	physical, logical, err := client.GetTS(context.Background())
	if err != nil {
		return nil, nil, fmt.Errorf("get a timestamp from PD: %w", err)
	}
	safePoint := &tikv.SafePoint{}
	const logicalBits = 18
	engines, bundle, err := openEngines(conf, safePoint, uint64(physical)<<logicalBits+uint64(logical))
	if err != nil {
		return nil, nil, err
	}
	inner := raftstore.NewRaftInnerServer(conf, engines, newRaftConfig(o, conf))
	inner.Setup(client)
	router := inner.GetRaftstoreRouter()
	client.router.Store(router)
	store := tikv.NewMVCCStore(conf, bundle, conf.Engine.DBPath, safePoint, raftstore.NewDBWriter(conf, router), pd.Client(client))
	manager := tikv.NewRaftRegionManager(inner.GetStoreMeta(), router, store.DeadlockDetectSvr)
	observed := newRegions(manager)
	inner.SetPeerEventObserver(observed)
	if err := inner.Start(client); err != nil {
		return nil, nil, fmt.Errorf("start the raft store: %w", err)
	}
	store.StartDeadlockDetection(true)
	return tikv.NewServer(manager, store, inner), observed, nil
}
