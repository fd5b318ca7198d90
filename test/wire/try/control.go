package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

// control is the path of requests from command try to a model that runs. The request is break, mend or pass, and
// says of what.
const control = "/try/"

// alive is the request that finds out whether a model runs.
const alive = "alive"

// kubeconfigIn returns the path of the kubeconfig in a folder.
func kubeconfigIn(folder string) string { return filepath.Join(folder, "kubeconfig") }

// writeKubeconfig writes what clients need to use the API server at a URL. Nobody else on this machine can read it.
func writeKubeconfig(folder, url string, authority []byte, token string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file := api.NewConfig()
	file.Clusters["try"] = &api.Cluster{Server: url, CertificateAuthorityData: authority}
	file.AuthInfos["try"] = &api.AuthInfo{Token: token}
	file.Contexts["try"] = &api.Context{Cluster: "try", AuthInfo: "try", Namespace: kubernetes.Namespace}
	file.CurrentContext = "try"
	body, err := clientcmd.Write(*file)
	if err != nil {
		return err
	}
	return os.WriteFile(kubeconfigIn(folder), body, 0o600)
}

// ask sends a request to the model that runs, and prints the answer.
func ask(ctx context.Context, folder string, words []string, out io.Writer) error {
	said, err := asked(ctx, folder, words)
	if err == nil {
		fmt.Fprintln(out, said)
	}
	return err
}

func asked(ctx context.Context, folder string, words []string) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigIn(folder))
	if err != nil {
		return "", fmt.Errorf("no model was started: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+control+strings.Join(words, "/"), nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("the model does not run any more: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	said := strings.TrimSpace(string(body))
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s", said)
	}
	return said, nil
}

// controlled answers a request of command try.
func (w *world) controlled(out http.ResponseWriter, r *http.Request) {
	verb, of, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, control), "/")
	said, err := w.obey(verb, of)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	if verb != alive {
		w.say("%s", said)
	}
	fmt.Fprintln(out, said)
}

func (w *world) obey(verb, of string) (string, error) {
	switch verb {
	case alive:
		return "it runs", nil
	case "break":
		return w.breaks(of)
	case "mend":
		return w.mends(of)
	case "pass":
		more, err := time.ParseDuration(of)
		if err != nil || more <= 0 || more > day {
			return "", fmt.Errorf("give a time from 1s to 24h, such as 10m")
		}
		w.goOn(more)
		return "it is " + more.String() + " later", nil
	}
	return "", fmt.Errorf("the words are break, mend and pass")
}

// day is the longest time that passes at once.
const day = 24 * time.Hour
