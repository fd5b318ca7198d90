package render

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// invalid returns what the pods of a component lack because of certificates that cannot be used:
// those that its pods mount, and that of this program, without which it cannot ask PD.
func invalid(c topology.Cluster, k topology.Kind, faults []certificate.Fault) []desired.Lack {
	var lacks []desired.Lack
	for _, f := range faults {
		ours := f.Secret == c.ClientSecret()
		if !ours && !slices.Contains(f.MountedBy, k) {
			continue
		}
		lacks = append(lacks, desired.Lack{
			Whole: ours, Need: desired.ValidCertificate, Object: f.Secret, Want: "the certificate in Secret " + f.Secret + " valid", Observed: f.Text, Remedy: cure(c, f),
		})
	}
	return lacks
}

func cure(c topology.Cluster, f certificate.Fault) remedy.Remedy {
	see := remedy.Run("see all certificates", remedy.Plugin(c.Namespace, "tls", "check", c.Name))
	if f.Renew {
		return remedy.Remedy{remedy.Run("have a new one issued, if kubectl tidb tls init has made it", remedy.Plugin(c.Namespace, "tls", "rotate", c.Name)), see}
	}
	return remedy.Remedy{remedy.Run("have it made, or make it yourself", remedy.Plugin(c.Namespace, "tls", "init", c.Name)), see}
}

// ending reports certificates that end soon, each once, for the first component that mounts it.
func ending(c topology.Cluster, k topology.Kind, snap state.Snapshot) []desired.Finding {
	var all []desired.Finding
	for _, w := range topology.Certificates(c) {
		first := append(slices.Clone(w.MountedBy), c.Groups[0].Kind)[0]
		s, ok := snap.Certificates[w.Secret]
		if !ok || first != k || !s.EndsSoon(snap.At) {
			continue
		}
		all = append(all, desired.Finding{
			Reason: event.CertificateEnds, Component: k,
			Text: fmt.Sprintf("the certificate in Secret %s ends on %s, in %d days",
				s.Name, s.Leaf.NotAfter.UTC().Format("2006-01-02"), int(s.Leaf.NotAfter.Sub(snap.At).Hours()/24)),
			Remedy: remedy.Remedy{remedy.Run("have a new one issued, if kubectl tidb tls init has made it", remedy.Plugin(c.Namespace, "tls", "rotate", c.Name))},
		})
	}
	return all
}
