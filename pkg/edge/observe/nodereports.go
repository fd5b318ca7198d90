package observe

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// NodeReports reads the nodes that members run on, by the names of the nodes. A node that cannot be read is left out,
// since unknown is not lost. Without the right to read nodes the result is empty.
func NodeReports(ctx context.Context, kube kubernetes.Interface, s state.Snapshot) map[string]state.NodeReport {
	names := map[string]bool{}
	for _, g := range s.Groups {
		for _, m := range g.Members {
			if m.Pod != nil && m.Pod.Node != "" {
				names[m.Pod.Node] = true
			}
		}
	}
	reports := map[string]state.NodeReport{}
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for name := range names {
		all.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			report, err := readNodeReport(ctx, kube, name)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				reports[name] = report
			}
			if denial.Missing(err) {
				return err // no other node can be read either
			}
			return nil
		})
	}
	_ = all.Wait()
	return reports
}

// readNodeReport reads one node. That a node does not exist is a report too.
func readNodeReport(ctx context.Context, kube kubernetes.Interface, name string) (state.NodeReport, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	node, err := kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return state.NodeReport{State: state.NodeMissing}, nil
	case err != nil:
		return state.NodeReport{}, err
	}
	return state.NodeReportOf(node), nil
}
