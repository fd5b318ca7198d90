package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Correction changes a file of a library before it is compiled. The store's library was given up before it was finished
// and cannot be had in another version; without corrections a store crashes or stops replicating every few starts.
type Correction struct {
	// Module and File say what is corrected.
	Module string
	File   string
	// By is a file of the part's module to take instead. Without it, Old is replaced by New.
	By       string
	Old, New string
}

const unistore = "github.com/ngaut/unistore"

func storeCorrections() []Correction {
	const folder = "tikv/raftstore/"
	return append(connections("pd/client.go", "tikv/deadlock.go", folder+"raft_client.go", folder+"snapRunner.go"), []Correction{
		{
			// A leader of PD whose host was gone got the reports on regions for a quarter of an hour more, and no other
			// leader did. TiKV looks after its connections in this way.
			Module: unistore, File: "pd/client.go",
			Old: "grpc.Dial(u.Host, security.Dial())", New: "grpc.Dial(u.Host, security.Dial(), security.Alive())",
		},
		{
			// Each checksum was the same number, so that br found no backup right.
			Module: unistore, File: "tikv/server.go",
			Old: "\n\tvar mppTaskHandler *cophandler.MPPTaskHandler\n",
			New: "\n\tif req.Tp == kv.ReqTypeChecksum {\n\t\tfor _, part := range req.Ranges {\n" +
				"\t\t\terr := svr.mvccStore.CheckRangeLock(req.StartTs, part.Start, part.End, req.Context.ResolvedLocks)\n" +
				"\t\t\tif err != nil {\n\t\t\t\treturn &coprocessor.Response{Locked: convertToKeyError(err).Locked}, nil\n\t\t\t}\n\t\t}\n" +
				"\t\treturn checksum.Answer(reqCtx.getDBReader(), req), nil\n\t}\n" +
				"\tvar mppTaskHandler *cophandler.MPPTaskHandler\n",
		},
		{
			Module: unistore, File: "tikv/server.go",
			Old: "\t\"github.com/ngaut/unistore/tikv/dbreader\"\n",
			New: "\t\"github.com/kubectl-tidb/kubectl-tidb/test/node/parts/store/checksum\"\n\t\"github.com/ngaut/unistore/tikv/dbreader\"\n",
		},
		{
			// A message that a replica is gone has no message of raft in it, which ended a store that had no such replica.
			Module: unistore, File: folder + "fsm_store.go",
			Old: "msg.FromPeer.Id, msg.ToPeer.Id, d.storeFsm.id, regionID, msg.Message.MsgType)",
			New: "msg.FromPeer.GetId(), msg.ToPeer.GetId(), d.storeFsm.id, regionID, msg.Message.GetMsgType())",
		},
		{
			// A change of replicas that had failed was reported without the change, which ended the store. Raft is told of an
			// empty change.
			Module: unistore, File: folder + "fsm_peer.go",
			Old: "changeType := cp.confChange.ChangeType\n",
			New: "if cp.confChange == nil {\n\t\tcp.confChange = new(eraftpb.ConfChange)\n\t}\n\tchangeType := cp.confChange.ChangeType\n",
		},
		{
			// A replica that was replaced while it applied a snapshot ended the store. The message that says so comes again.
			Module: unistore, File: folder + "peer.go",
			Old: "if !p.Store().CancelApplyingSnap() {", New: "if p.Store().CheckApplyingSnap() {",
		},
		{
			// A message to a replica that had just been removed from the store ended the store.
			Module: unistore, File: folder + "peer_worker.go",
			Old: "newRaftMsgHandler(peerState.peer, rw.raftCtx).HandleMsgs(msg)",
			New: "if peerState == nil {\n\t\t\t\tdelete(peerStateMap, msg.RegionID)\n\t\t\t\tcontinue\n\t\t\t}\n" +
				"\t\t\tnewRaftMsgHandler(peerState.peer, rw.raftCtx).HandleMsgs(msg)",
		},
		{Module: unistore, File: folder + "snap_builder.go", By: "_library/snap_builder.go"},
		{Module: unistore, File: folder + "snap_applier.go", By: "_library/snap_applier.go"},
		{
			// A snapshot that is already on disk was sent without its description, which crashes the receiver.
			Module: unistore, File: folder + "snap.go",
			Old: "err := s.validate()\n\t\tif err == nil {\n\t\t\treturn nil",
			New: "err := s.validate()\n\t\tif err == nil {\n" +
				"\t\t\tsnapData.FileSize, snapData.Version, snapData.Meta = s.TotalSize(), snapshotVersion, s.MetaFile.Meta\n" +
				"\t\t\treturn nil",
		},
		{
			// A snapshot of a region without data was applied and never recorded as applied: the next start looks for
			// its file, which is gone, and ends.
			Module: unistore, File: folder + "worker.go",
			Old: "if cnt >= n {\n\t\t\tbreak\n\t\t}\n\t\tcnt += state.tableCount\n",
			New: "if cnt += state.tableCount; cnt > n {\n\t\t\tbreak\n\t\t}\n",
		},
		{
			// A replica that had its region from a snapshot answered reads by the empty region that it was made with, until the
			// region changed again. As the leader it refused all reads, for ever (EpochNotMatch without a region).
			Module: unistore, File: folder + "fsm_peer.go",
			Old: "meta.regions[region.Id] = region\n\td.ctx.peerEventObserver.OnPeerApplySnap(",
			New: "meta.setRegion(region, d.peer)\n\td.ctx.peerEventObserver.OnPeerApplySnap(",
		},
		{
			// A snapshot counted as applied before its data and the state of its region were written. A learner that was made
			// a voter in between was a learner again after the next start. Such a replica takes over no leader, and its region
			// accepts no writes for ever.
			Module: unistore, File: folder + "worker.go",
			Old: "case nil:\n\t\tatomic.SwapUint32(status, JobStatus_Finished)", New: "case nil: // finishApply says so",
		},
		{
			Module: unistore, File: folder + "worker.go",
			Old: "tableCount int\n}", New: "tableCount int\n\tstatus     *JobStatus\n}",
		},
		{
			Module: unistore, File: folder + "worker.go",
			Old: "r.handleApplyResult(result); err != nil {\n\t\t\tlog.S().Error(err)\n\t\t}",
			New: "r.handleApplyResult(result); err != nil {\n\t\t\tlog.S().Error(err)\n\t\t} else {\n" +
				"\t\t\tr.applyStates[len(r.applyStates)-1].status = task.status\n\t\t}",
		},
		{
			Module: unistore, File: folder + "worker.go",
			Old: "var cnt int\n\tfor _, state := range r.applyStates {", New: "var cnt int\n\tvar written []*JobStatus\n\tfor _, state := range r.applyStates {",
		},
		{
			Module: unistore, File: folder + "worker.go",
			Old: "wb.Delete(y.KeyWithTs(SnapshotRaftStateKey(regionID), KvTS))\n\t}",
			New: "wb.Delete(y.KeyWithTs(SnapshotRaftStateKey(regionID), KvTS))\n\t\twritten = append(written, state.status)\n\t}",
		},
		{
			Module: unistore, File: folder + "worker.go",
			Old: "log.Error(\"update region status failed\", zap.Error(err))\n\t}",
			New: "log.Error(\"update region status failed\", zap.Error(err))\n\t\twritten = nil\n\t}\n" +
				"\tfor _, status := range written {\n\t\tatomic.SwapUint32(status, JobStatus_Finished)\n\t}",
		},
		{
			// Entries that were applied were blanked while they were still being sent to other stores, which end when
			// they receive a blank entry.
			Module: unistore, File: folder + "applier.go",
			Old: "apply.entries[i] = eraftpb.Entry{}", New: "_ = i",
		},
		{
			// After a failure the region waited for its snapshot for ever; an empty answer makes it ask again …
			Module: unistore, File: folder + "worker.go",
			Old: `log.Error("failed to generate snapshot!!!", zap.Uint64("region id", regionId), zap.Error(err))`,
			New: `log.Error("failed to generate snapshot!!!", zap.Uint64("region id", regionId), zap.Error(err))` +
				"\n\t\tnotifier <- new(eraftpb.Snapshot)",
		},
		{
			// … and asking five times in vain ended the process.
			Module: unistore, File: folder + "peer_storage.go",
			Old: "MaxSnapRetryCnt = 5", New: "MaxSnapRetryCnt = 1 << 30",
		},
		{
			// One worker sent and received snapshots in turn, and waited for the other side: two stores that sent each
			// other one waited for ever, and neither region got its replica.
			Module: unistore, File: folder + "snapRunner.go",
			Old: "r.send(t.data.(sendSnapTask))\n\tcase taskTypeSnapRecv:\n\t\tr.recv(t.data.(recvSnapTask))",
			New: "go r.send(t.data.(sendSnapTask))\n\tcase taskTypeSnapRecv:\n\t\tgo r.recv(t.data.(recvSnapTask))",
		},
		{
			// The connection of each snapshot that was sent stayed open …
			Module: unistore, File: folder + "snapRunner.go",
			Old: "client := tikvpb.NewTikvClient(cc)", New: "defer cc.Close()\n\tclient := tikvpb.NewTikvClient(cc)",
		},
		{
			// … and so did one connection for each attempt to send messages to a store that is away, one a second.
			Module: unistore, File: folder + "raft_client.go",
			Old: "BatchRaft(ctx)\n\tif err != nil {\n\t\treturn err\n\t}\n\tc.streamCancel = cancelFunc",
			New: "BatchRaft(ctx)\n\tc.streamCancel = func() { cancelFunc(); cc.Close() }\n" +
				"\tif err != nil {\n\t\tc.streamCancel()\n\t\treturn err\n\t}",
		},
		{
			// The queue of a connection that could not be made was waited for by the one goroutine that drives all regions of
			// the store: while one peer was away, no region of the store sent anything to any peer, and after ten seconds the
			// other stores elected new leaders. TiKV drops a message whose queue is full; raft sends it again.
			Module: unistore, File: folder + "raft_client.go",
			Old: "\tcase <-c.ctx.Done():\n\t\treturn c.ctx.Err()\n\t}\n}",
			New: "\tcase <-c.ctx.Done():\n\t\treturn c.ctx.Err()\n\tdefault:\n" +
				"\t\treturn errors.Errorf(\"the queue of messages to store %d is full\", c.storeID)\n\t}\n}",
		},
		{
			// An attempt to connect to the former address of a restarted store lasted up to twenty seconds, in which no new
			// attempt was made.
			Module: unistore, File: folder + "raft_client.go",
			Old: "cc, err := grpc.Dial(addr, security.Dial(),",
			New: "cc, err := grpc.Dial(addr, security.Dial(), security.DialWithin(time.Second),",
		},
		{
			// A leader was handed to a replica that could not be reached, as one on a store that has just restarted, and the
			// region accepted no writes for ten seconds. TiKV asks the other replica first, and hands the leader over when
			// that replica has answered. Here the question is a heartbeat of raft, which is sent at once, and an answer after
			// two seconds is none.
			Module: unistore, File: folder + "peer.go",
			Old: "\t\tp.transferLeader(peer)\n",
			New: "\t\tp.asked, p.askedAt = peer, time.Now()\n" +
				"\t\t_ = p.RaftGroup.Raft.Step(eraftpb.Message{From: p.PeerId(), MsgType: eraftpb.MessageType_MsgBeat})\n",
		},
		{
			Module: unistore, File: folder + "peer.go",
			Old: "\tPeerHeartbeats map[uint64]time.Time\n",
			New: "\tPeerHeartbeats map[uint64]time.Time\n\tasked          *metapb.Peer\n\taskedAt        time.Time\n",
		},
		{
			Module: unistore, File: folder + "peer.go",
			Old: "\treturn p.RaftGroup.Step(*m)\n",
			New: "\tif err := p.RaftGroup.Step(*m); err != nil {\n\t\treturn err\n\t}\n" +
				"\tanswer := m.GetMsgType() == eraftpb.MessageType_MsgHeartbeatResponse && time.Since(p.askedAt) < 2*time.Second\n" +
				"\tif asked := p.asked; answer && asked != nil && asked.GetId() == m.GetFrom() {\n" +
				"\t\tp.asked = nil\n\t\tif p.IsLeader() {\n\t\t\tp.transferLeader(asked)\n\t\t}\n\t}\n\treturn nil\n",
		},
	}...)
}

// pumpCorrections make Pump serve requests of HTTP with TLS, too, as later versions do. Of this one clients of gRPC
// alone were asked for TLS, behind a listener that recognises requests by their text and so understands nobody.
func pumpCorrections() []Correction {
	const binlog = "github.com/pingcap/tidb-binlog"
	return []Correction{
		{Module: binlog, File: "pump/tls.go", By: "_library/tls.go"},
		{
			Module: binlog, File: "pump/server.go",
			Old: "grpcOpts = append(grpcOpts, grpc.Creds(credentials.NewTLS(cfg.tls)))", New: "encrypt(cfg.tls)",
		},
		{Module: binlog, File: "pump/server.go", Old: `listen("tcp", s.tcpAddr)`, New: "listenTCP(s.tcpAddr)"},
		{Module: binlog, File: "pump/server.go", Old: "\t\"google.golang.org/grpc/credentials\"\n"},
	}
}

// connections makes the library connect with TLS, which it does not know, where the store is configured for it.
func connections(files ...string) []Correction {
	const grpc = `"google.golang.org/grpc"`
	var corrections []Correction
	for _, file := range files {
		corrections = append(corrections, Correction{
			Module: unistore, File: file,
			Old: grpc, New: grpc + "\n" + `"github.com/kubectl-tidb/kubectl-tidb/test/node/parts/store/security"`,
		}, Correction{
			Module: unistore, File: file, Old: "grpc.WithInsecure()", New: "security.Dial()",
		})
	}
	return corrections
}

// correctedModFile copies the libraries that are to be corrected into a folder, corrects them there, and returns a
// go.mod that takes them from there. (The compiler's -overlay does not accept files of the module cache.)
func (b Builder) correctedModFile(ctx context.Context, part Part, folder string) (string, error) {
	sources := filepath.Join(b.Sources, part.Module)
	modFile := filepath.Join(folder, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := copyFile(filepath.Join(sources, name), filepath.Join(folder, name)); err != nil {
			return "", fmt.Errorf("copy the module files: %w", err)
		}
	}
	copies := map[string]string{}
	for _, correction := range part.Corrections {
		if copies[correction.Module] == "" {
			copies[correction.Module] = filepath.Join(folder, fmt.Sprintf("library-%d", len(copies)))
			err := copyModule(ctx, sources, correction.Module, copies[correction.Module])
			if err != nil {
				return "", err
			}
			replace := fmt.Sprintf("-replace=%s=%s", correction.Module, copies[correction.Module])
			if _, err := goCommand(ctx, sources, "mod", "edit", replace, modFile); err != nil {
				return "", err
			}
		}
		if err := correction.apply(sources, copies[correction.Module]); err != nil {
			return "", fmt.Errorf("correct %s of %s: %w", correction.File, correction.Module, err)
		}
	}
	return modFile, nil
}

func (c Correction) apply(sources, library string) error {
	target := filepath.Join(library, c.File)
	if c.By != "" {
		return copyFile(filepath.Join(sources, c.By), target)
	}
	content, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	if strings.Count(string(content), c.Old) != 1 {
		return errors.New("the text to replace is not there exactly once")
	}
	return os.WriteFile(target, []byte(strings.Replace(string(content), c.Old, c.New, 1)), 0o644)
}

// copyModule copies a library from the module cache, which is read-only.
func copyModule(ctx context.Context, sources, module, target string) error {
	output, err := goCommand(ctx, sources, "mod", "download", "-json", module)
	if err != nil {
		return fmt.Errorf("download the library %s: %w", module, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(output, &downloaded); err != nil {
		return fmt.Errorf("find the library %s: %w", module, err)
	}
	if err := os.CopyFS(target, os.DirFS(downloaded.Dir)); err != nil {
		return fmt.Errorf("copy the library %s: %w", module, err)
	}
	err = filepath.WalkDir(target, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	})
	if err != nil {
		return fmt.Errorf("make the copy of the library %s writable: %w", module, err)
	}
	modFile := filepath.Join(target, "go.mod")
	if _, err := os.Stat(modFile); err == nil {
		return nil
	}
	// Older libraries have none, but a folder must have one to be taken as a module.
	return os.WriteFile(modFile, []byte("module "+module+"\n"), 0o644)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

func goCommand(ctx context.Context, folder string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = folder
	command.Env = environment()
	output, err := command.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("go %s: %w\n%s%s", strings.Join(arguments, " "), err, output, exit.Stderr)
	}
	return output, err
}
