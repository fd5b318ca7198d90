// Package create is the verb that makes a cluster from a few flags.
package create

import (
	"context"
	"errors"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// options are the verb's flags and its argument.
type options struct {
	flags.Options
	name                    string
	version                 string
	pd, tikv, tiflash, tidb int32
	tiproxy                 int32
	tiproxyVersion          string
	ticdc                   int32
	storage                 string
	storageClassName        string
	tls                     bool
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "create NAME --version VERSION",
		Short: "Make a cluster and wait until it serves",
		Long: `Make a cluster of PD, TiKV and TiDB, with TiFlash, TiProxy and TiCDC if you ask for
them, and wait until it serves.

The flags say what most clusters differ in. For everything else write a TidbCluster
manifest and use "kubectl tidb apply", or change the cluster with "kubectl edit tc"
and go on with "kubectl tidb sync". TiDB's readiness probe looks after 1 second and
then each 2 seconds, rather than after 10 and each 10.

Claims that a cluster of that name has left are used again, with their data. A lower
version than one that has run on them is refused; where it is not recorded which versions
have, a notice says so.`,
		Example: `  # The usual size: three PD members, three TiKV stores, two TiDB servers
  kubectl tidb create basic --version v8.1.0

  # With TiProxy before the TiDB servers
  kubectl tidb create basic --version v8.1.0 --tiproxy 2 --tiproxy-version v1.3.0

  # Bigger, and on a storage class of your choice
  kubectl tidb create basic --version v8.1.0 --tikv 5 --storage 500Gi --storage-class fast

  # See what that would make
  kubectl tidb create basic --version v8.1.0 --dry-run`,
		SuggestFor: []string{"deploy", "new", "start"},
		Args:       cobra.ExactArgs(1),
		// The name is new, so there is nothing to complete.
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			o.name = args[0]
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.version, "version", "", "Version of all components, e.g. v8.1.0.")
	flags.Int32Var(&o.pd, "pd", 3, "Number of PD members.")
	flags.Int32Var(&o.tikv, "tikv", 3, "Number of TiKV stores.")
	flags.Int32Var(&o.tiflash, "tiflash", 0, "Number of TiFlash stores; 0 for a cluster without TiFlash.")
	flags.Int32Var(&o.tidb, "tidb", 2, "Number of TiDB servers.")
	flags.Int32Var(&o.tiproxy, "tiproxy", 0, "Number of TiProxy, which pass connections of SQL clients on to TiDB servers.")
	flags.StringVar(&o.tiproxyVersion, "tiproxy-version", "", "Version of TiProxy, e.g. v1.3.0. Its releases have numbers of their own.")
	flags.Int32Var(&o.ticdc, "ticdc", 0, "Number of TiCDC captures, which send changes of the data on to other systems.")
	flags.StringVar(&o.storage, "storage", "10Gi", "Storage of each PD member and each store. It can be made larger later, with \"kubectl tidb apply\" or \"sync\".")
	flags.StringVar(&o.storageClassName, "storage-class", "", "Storage class of the claims; the default class without it.")
	flags.BoolVar(&o.tls, "tls", false, "TLS between members, and for SQL clients. Certificates are made as \"kubectl tidb tls init\" makes them, where there are none.")
	_ = cmd.MarkFlagRequired("version")
	_ = cmd.RegisterFlagCompletionFunc("version", target.CompleteVersion(f))
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	namespace, err := f.Namespace()
	if err != nil {
		return err
	}
	want, err := o.cluster(namespace)
	if err != nil {
		return err
	}
	s, err := target.Connect(f, namespace, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	return Make(ctx, f, s, o.Options, want, func(version string) remedy.Action {
		return remedy.Run("go on with the data", f.With("version", version).Again(namespace))
	})
}

// Make makes a cluster and waits until it serves. It refuses where there is a cluster of the name already. With returns
// the same command with another version, for data of a newer version that the cluster would find.
func Make(ctx context.Context, f *factory.Factory, s *target.Session, o flags.Options, want *v1alpha1.TidbCluster, with func(version string) remedy.Action) error {
	makes, write := certificates(s, f, want)
	r := check.Request{
		Action: "create",
		Makes:  makes,
		Change: intent.Change{Want: want, Write: func(ctx context.Context, w intent.Write) error {
			if err := write(ctx, w); err != nil {
				return err
			}
			made, err := s.Intent.Create(ctx, want, w)
			if err == nil && !w.DryRun {
				makeBudgets(ctx, f, s.Kube, topology.New(made))
			}
			return err
		}},
		With: with,
	}
	var missing *intent.NotFoundError
	var bad *intent.MalformedError
	switch _, err := s.Load(ctx); {
	case err == nil, errors.As(err, &bad):
		r.Refusal = exists(want.Namespace, want.Name)
	case !errors.As(err, &missing):
		return err
	}
	return drive.Run(ctx, f, s, o, r)
}

// certificates returns the Secrets that are made with the cluster, and how.
func certificates(s *target.Session, f *factory.Factory, want *v1alpha1.TidbCluster) (names []string, write func(context.Context, intent.Write) error) {
	c := topology.New(want)
	for _, w := range topology.Certificates(c) {
		names = append(names, w.Secret)
	}
	return names, func(ctx context.Context, w intent.Write) error {
		if w.DryRun || len(names) == 0 {
			return nil
		}
		_, err := issue.NewSelf(s.Kube, c, f.Clock.Now(), issue.Life).Missing(ctx)
		if foreign, ok := errors.AsType[*issue.ForeignError](err); ok {
			return exit.Refusef("%w; nothing was changed", foreign)
		}
		return err
	}
}

func exists(namespace, name string) error {
	return remedy.For(exit.Refusef("cluster %s/%s exists already, so nothing was changed", namespace, name),
		remedy.Run("go on with it", remedy.Plugin(namespace, "sync", name)))
}

// cluster returns the TidbCluster that the flags describe.
func (o options) cluster(namespace string) (*v1alpha1.TidbCluster, error) {
	if err := target.CheckVersion(o.version, ""); err != nil {
		return nil, exit.Usagef("--version: %w", err)
	}
	storage, err := resource.ParseQuantity(o.storage)
	if err != nil || storage.Sign() <= 0 {
		return nil, exit.Usagef("--storage: %q is not an amount such as 10Gi", o.storage)
	}
	if min(o.pd, o.tikv, o.tidb) < 1 {
		return nil, exit.Usagef("a cluster has at least one member of each component; these are %d of PD, %d of TiKV and %d of TiDB",
			o.pd, o.tikv, o.tidb)
	}
	if err := o.checkOptional(); err != nil {
		return nil, err
	}
	var class *string
	if o.storageClassName != "" {
		class = &o.storageClassName
	}
	claim := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: storage}}
	tc := &v1alpha1.TidbCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.name},
		Spec: v1alpha1.TidbClusterSpec{
			Version: o.version,
			PD: &v1alpha1.PDSpec{
				BaseImage: "pingcap/pd", Replicas: o.pd, ResourceRequirements: claim,
				StorageClassName: class, Config: v1alpha1.NewPDConfig(),
			},
			TiKV: &v1alpha1.TiKVSpec{
				BaseImage: "pingcap/tikv", Replicas: o.tikv, ResourceRequirements: claim,
				StorageClassName: class, Config: v1alpha1.NewTiKVConfig(),
			},
			TiDB: &v1alpha1.TiDBSpec{
				BaseImage: "pingcap/tidb", Replicas: o.tidb, Config: v1alpha1.NewTiDBConfig(),
				ComponentSpec: v1alpha1.ComponentSpec{ReadinessProbe: earlyProbe()},
				Service:       &v1alpha1.TiDBServiceSpec{ServiceSpec: v1alpha1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}},
			},
		},
	}
	if o.tls {
		tc.Spec.TLSCluster, tc.Spec.TiDB.TLSClient = &v1alpha1.TLSCluster{Enabled: true}, &v1alpha1.TiDBTLSClient{Enabled: true}
	}
	if o.tiproxy > 0 {
		tc.Spec.TiProxy = &v1alpha1.TiProxySpec{BaseImage: "pingcap/tiproxy", Replicas: o.tiproxy, Config: v1alpha1.NewTiProxyConfig()}
		tc.Spec.TiProxy.Version = &o.tiproxyVersion
	}
	if o.tiflash > 0 {
		tc.Spec.TiFlash = &v1alpha1.TiFlashSpec{
			BaseImage: "pingcap/tiflash", Replicas: o.tiflash, Config: v1alpha1.NewTiFlashConfig(),
			StorageClaims: []v1alpha1.StorageClaim{{Resources: claim, StorageClassName: class}},
		}
	}
	if o.ticdc > 0 {
		tc.Spec.TiCDC = &v1alpha1.TiCDCSpec{BaseImage: "pingcap/ticdc", Replicas: o.ticdc, Config: v1alpha1.NewCDCConfig()}
	}
	// All of it was given on the command line.
	if errs := topology.Validate(topology.New(tc)); len(errs) > 0 {
		return nil, exit.Usagef("cluster %s/%s would not be valid: %w", namespace, o.name, errs.ToAggregate())
	}
	return tc, nil
}

// earlyProbe looks at a TiDB server as soon as it can serve. The default is to look after ten seconds, and then each
// ten seconds. That is most of the time in which a restarted server serves nobody.
func earlyProbe() *v1alpha1.Probe {
	return &v1alpha1.Probe{InitialDelaySeconds: ptr.To[int32](1), PeriodSeconds: ptr.To[int32](2)}
}

// checkOptional refuses what is wrong with components that a cluster need not have.
func (o options) checkOptional() error {
	switch {
	case o.ticdc < 0:
		return exit.Usagef("--ticdc: %d is no number of captures", o.ticdc)
	case o.tiflash < 0:
		return exit.Usagef("--tiflash: %d is no number of stores", o.tiflash)
	}
	return o.checkTiProxy()
}

// checkTiProxy refuses flags for TiProxy that do not belong together.
func (o options) checkTiProxy() error {
	switch {
	case o.tiproxy < 0:
		return exit.Usagef("--tiproxy: %d is not a number of members", o.tiproxy)
	case o.tiproxy == 0 && o.tiproxyVersion != "":
		return exit.Usagef("--tiproxy-version without --tiproxy")
	case o.tiproxy > 0 && o.tiproxyVersion == "":
		return exit.Usagef("--tiproxy needs --tiproxy-version: releases of TiProxy have numbers of their own")
	case o.tiproxy == 0:
		return nil
	}
	if err := target.CheckVersion(o.tiproxyVersion, ""); err != nil {
		return exit.Usagef("--tiproxy-version: %w", err)
	}
	return nil
}
