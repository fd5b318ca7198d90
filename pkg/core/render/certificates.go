package render

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// invalid returns what the pods of a component lack because of certificates that cannot be used. These are
// the certificates that the pods mount, and the certificate without which this program cannot ask PD.
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

// warned reports what a person should know about certificates, each for the first component that mounts it.
func warned(c topology.Cluster, k topology.Kind, warnings []certificate.Warning) []desired.Notice {
	var all []desired.Notice
	for _, w := range warnings {
		if first := append(slices.Clone(w.MountedBy), c.Groups[0].Kind)[0]; first == k {
			all = append(all, desired.Notice{Reason: warningReasons[w.About], Component: k, Text: w.Text, Remedy: w.Remedy})
		}
	}
	return all
}

var warningReasons = map[certificate.About]event.NoticeReason{
	certificate.End:          event.CertificateEnds,
	certificate.AuthorityEnd: event.AuthorityEnds,
	certificate.ServiceNames: event.CertificateNames,
}
