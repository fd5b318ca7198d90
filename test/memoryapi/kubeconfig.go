package memoryapi

import (
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a file with which clients use the server at a URL.
func Kubeconfig(path, url string) error {
	file := api.NewConfig()
	file.Clusters["memory"] = &api.Cluster{Server: url}
	file.Contexts["memory"] = &api.Context{Cluster: "memory"}
	file.CurrentContext = "memory"
	return clientcmd.WriteToFile(*file, path)
}
