// Command certmanager runs the controllers of cert-manager that issue Certificates by Issuers of the kinds CA
// and SelfSigned, in one namespace, until it is interrupted. It is what the end-to-end tests run instead of
// cert-manager's own program, whose module cannot be built from the Go module proxy.
//
// There is no webhook: what it checks beyond the definitions' schemas is not checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"         // Issuers of this kind become Ready
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned" // Issuers of this kind become Ready
)

func controllers() []string {
	return []string{
		issuers.ControllerName, trigger.ControllerName, keymanager.ControllerName, requestmanager.ControllerName,
		approver.ControllerName, ca.CRControllerName, selfsigned.CRControllerName,
		issuing.ControllerName, readiness.ControllerName, revisionmanager.ControllerName,
	}
}

// workers is how many objects each controller looks at side by side, as in cert-manager's own program.
const workers = 5

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	kubeconfig := flag.String("kubeconfig", "", "the file that says where Kubernetes is")
	namespace := flag.String("namespace", "", "the namespace of the Issuers and Certificates")
	klog.InitFlags(nil)
	flag.Parse()
	if err := run(ctx, *kubeconfig, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "certmanager:", err)
		os.Exit(1)
	}
}

// run runs all controllers until the context ends or one of them fails.
func run(ctx context.Context, kubeconfig, namespace string) error {
	if kubeconfig == "" || namespace == "" {
		return errors.New("-kubeconfig and -namespace are needed")
	}
	group, ctx := errgroup.WithContext(ctx)
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig, Namespace: namespace, KubernetesAPIQPS: 20, KubernetesAPIBurst: 50,
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Hour, CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	})
	if err != nil {
		return err
	}
	for _, name := range controllers() {
		c, err := controller.Known()[name](factory)
		if err != nil {
			return fmt.Errorf("make the controller %s: %w", name, err)
		}
		group.Go(func() error {
			if err := c.Run(workers, ctx); err != nil && ctx.Err() == nil {
				return fmt.Errorf("run the controller %s: %w", name, err)
			}
			return nil
		})
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return group.Wait()
}
