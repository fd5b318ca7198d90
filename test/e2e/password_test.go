package e2e

import (
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// wantFirstPassword asserts that root logs in with the password in the Secret, and not without one.
func (s environment) wantFirstPassword(t *testing.T) {
	t.Helper()
	tc, err := s.clusters().Get(t.Context(), cluster, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if set, _, _ := unstructured.NestedBool(tc.Object, "status", "tidb", "passwordInitialized"); !set {
		t.Error("the status does not say that root has a password")
	}
	password := string(s.secret(t, cluster+"-init").Data["root"])
	if len(password) < 20 {
		t.Errorf("the password has %d characters", len(password))
	}
	if err := s.login(t, password); err != nil {
		t.Errorf("with the password in the Secret: %v", err)
	}
	var denied *mysql.MySQLError
	if err := s.login(t, ""); !errors.As(err, &denied) || denied.Number != 1045 {
		t.Errorf("without a password: %v", err)
	}
}

// login logs in as root.
func (s environment) login(t *testing.T, password string) error {
	t.Helper()
	client := s.sql
	client.Password = password
	db, err := client.Open(s.plugin.Namespace + "-login")
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(t.Context())
}
