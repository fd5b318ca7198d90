package tls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

func newCheck(f *factory.Factory) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Show certificates, and what is wrong with them",
		Long: `Show the certificate in each Secret that a cluster needs, until when it is valid, and what
is wrong with it; and which certificate each member shows, which may be the one before the
last change of its Secret. The exit code is 3 if one cannot be used. An authority that ends
within two weeks, and a Service of which the certificate for SQL clients has no name, are
warnings. The cluster need not exist: then all Secrets that "kubectl tidb tls init" makes are
checked.`,
		Example: `  kubectl tidb tls check basic

  # Days until the first certificate ends
  kubectl tidb tls check basic -o json | jq '[.certificates[].daysLeft] | min'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE:              func(cmd *cobra.Command, args []string) error { return runCheck(cmd.Context(), f, args, format) },
	}
	format.Bind(cmd, "With json, one document.")
	return cmd
}

// view is what is shown.
type view struct {
	Namespace    string            `json:"namespace"`
	Cluster      string            `json:"cluster"`
	Certificates []certificateView `json:"certificates"`
	Members      []memberView      `json:"members"`
}

type certificateView struct {
	Secret    string     `json:"secret"`
	MountedBy []string   `json:"mountedBy"`
	Subject   string     `json:"subject,omitempty"`
	Issuer    string     `json:"issuer,omitempty"`
	NotAfter  *time.Time `json:"notAfter,omitempty"`
	DaysLeft  *int       `json:"daysLeft,omitempty"`
	Problem   string     `json:"problem,omitempty"`
	// Authority is what has signed it, and has to be valid as well.
	Authority *authorityView `json:"authority,omitempty"`
	// Warnings are about a certificate that can be used.
	Warnings []warning `json:"warnings,omitempty"`
	// Unread says why nothing is known.
	Unread string `json:"unread,omitempty"`
	remedy remedy.Remedy
}

type warning struct {
	Text   string          `json:"text"`
	Remedy []remedy.Advice `json:"remedy,omitempty"`
}

type authorityView struct {
	Subject  string    `json:"subject"`
	NotAfter time.Time `json:"notAfter"`
	DaysLeft int       `json:"daysLeft"`
}

type memberView struct {
	Member   string     `json:"member"`
	NotAfter *time.Time `json:"notAfter,omitempty"`
	// Current: it shows the certificate that is in its Secret.
	Current *bool  `json:"current,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func runCheck(ctx context.Context, f *factory.Factory, name []string, format output.Format) error {
	s, err := target.Open(ctx, f, name)
	if err != nil {
		return err
	}
	defer s.Close()
	c, exists, err := cluster(ctx, s, "", nil)
	if err != nil {
		return err
	}
	if !c.TLS.Members && !c.TLS.SQL {
		return exit.Refusef("cluster %s/%s has no TLS: neither spec.tlsCluster.enabled nor spec.tidb.tlsClient.enabled", c.Namespace, c.Name)
	}
	seen, err := s.Observer.Against(ctx, c)
	if err != nil {
		return err
	}
	v := viewOf(c, seen.Snapshot, f.Context())
	if exists {
		v.Members = membersOf(observe.ReadServed(ctx, s.Dialer, c, seen.Snapshot))
	}
	if format.JSON() {
		err = output.Write(f.Streams.Out, v)
	} else {
		err = v.print(f.Streams.Out)
	}
	return errors.Join(err, v.verdict())
}

func viewOf(c topology.Cluster, snap state.Snapshot, inContext string) view {
	v := view{Namespace: c.Namespace, Cluster: c.Name, Certificates: []certificateView{}, Members: []memberView{}}
	faults := certificate.Faults(desired.WithSpares(c, snap.Groups), snap.Certificates, snap.At)
	for _, w := range topology.Certificates(c) {
		s := snap.Certificates[w.Secret]
		row := certificateView{Secret: w.Secret, MountedBy: []string{}, Unread: s.Unread}
		for _, k := range w.MountedBy {
			row.MountedBy = append(row.MountedBy, string(k))
		}
		if s.Leaf != nil {
			days := certificate.Days(s.Leaf, snap.At)
			row.Subject, row.Issuer, row.NotAfter, row.DaysLeft = s.Leaf.Subject.String(), s.Leaf.Issuer.String(), &s.Leaf.NotAfter, &days
			if a := s.Signer(snap.At); a != nil {
				row.Authority = &authorityView{Subject: a.Subject.String(), NotAfter: a.NotAfter, DaysLeft: certificate.Days(a, snap.At)}
			}
		}
		if i := slices.IndexFunc(faults, func(f certificate.Fault) bool { return f.Secret == w.Secret }); i >= 0 {
			row.Problem = faults[i].Text
			row.remedy = remedy.Remedy{remedy.Run("have it made", remedy.Plugin(c.Namespace, "tls", "init", c.Name))}
			if faults[i].Renew {
				row.remedy = remedy.Remedy{remedy.Run("have a new one issued", remedy.Plugin(c.Namespace, "tls", "rotate", c.Name))}
			}
		}
		v.Certificates = append(v.Certificates, row)
	}
	v.warn(certificate.Warnings(c, snap.Certificates, snap.At), inContext)
	return v
}

// warn adds warnings to the rows of their certificates. How many days a certificate is valid is shown anyway.
func (v view) warn(warnings []certificate.Warning, inContext string) {
	for _, w := range warnings {
		if i := slices.IndexFunc(v.Certificates, func(c certificateView) bool { return c.Secret == w.Secret }); w.About != certificate.End {
			row := &v.Certificates[i]
			row.Warnings = append(row.Warnings, warning{w.Text, w.Remedy.In(inContext)})
		}
	}
}

// membersOf compares what members show with what is in their Secrets.
func membersOf(served []observe.Served) []memberView {
	rows := []memberView{}
	for _, s := range served {
		row := memberView{Member: s.Member}
		if s.Err != nil {
			row.Problem = s.Err.Error()
		}
		if s.Leaf != nil {
			row.NotAfter = &s.Leaf.NotAfter
			if older, known := s.Older(); known {
				current := !older
				row.Current = &current
			}
		}
		rows = append(rows, row)
	}
	return rows
}

const unknown = "unknown"

func (v view) print(out io.Writer) error {
	var rows [][]string
	for _, c := range v.Certificates {
		ends, left, says := "-", "-", "valid"
		if c.NotAfter != nil {
			ends, left = c.NotAfter.UTC().Format("2006-01-02"), fmt.Sprintf("%dd", *c.DaysLeft)
		}
		switch {
		case c.Problem != "":
			says = c.Problem
		case c.Unread != "":
			says = unknown + ": " + c.Unread
		}
		rows = append(rows, []string{c.Secret, ends, left, says})
	}
	if err := report.Table(out, []string{"secret", "ends", "left", "state"}, rows); err != nil {
		return err
	}
	for _, c := range v.Certificates {
		for _, w := range c.Warnings {
			fmt.Fprintf(out, "\nwarning: %s\n  %s\n", w.Text, remedy.Join(w.Remedy))
		}
	}
	if len(v.Members) == 0 {
		return nil
	}
	rows = nil
	for _, m := range v.Members {
		ends, says := "-", unknown
		if m.NotAfter != nil {
			ends = m.NotAfter.UTC().Format("2006-01-02")
		}
		switch {
		case m.Problem != "":
			says += ": " + m.Problem
		case m.Current != nil && *m.Current:
			says = "current"
		case m.Current != nil:
			says = "older than its Secret"
		}
		rows = append(rows, []string{m.Member, ends, says})
	}
	fmt.Fprintln(out)
	return report.Table(out, []string{"member", "ends", "shows"}, rows)
}

// verdict returns an error if a certificate cannot be used.
func (v view) verdict() error {
	var bad []string
	var cure remedy.Remedy
	for _, c := range v.Certificates {
		if c.Problem != "" {
			bad, cure = append(bad, c.Secret), c.remedy
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return remedy.For(exit.Refusef("%d of %d certificates cannot be used: %s", len(bad), len(v.Certificates), strings.Join(bad, ", ")), cure...)
}
