package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// tiflashName is the name under which the program is a stand-in for TiFlash: a store with the label engine=tiflash, on
// which PD's placement rules put learners. It stores rows as any other store does and answers no analytical queries.
// Nobody makes placement rules for tables: that is what a later TiDB does.
const tiflashName = "tiflash"

// tiflashConfig is what the stand-in takes of TiFlash's configuration.
type tiflashConfig struct {
	Flash struct {
		Service string `toml:"service_addr"`
		Cluster struct {
			Log string `toml:"log"`
		} `toml:"flash_cluster"`
		Proxy struct {
			Address         string `toml:"addr"`
			Advertise       string `toml:"advertise-addr"`
			AdvertiseStatus string `toml:"advertise-status-addr"`
			Engine          string `toml:"engine-addr"`
			DataDir         string `toml:"data-dir"`
			Config          string `toml:"config"`
		} `toml:"proxy"`
	} `toml:"flash"`
	Raft struct {
		PD string `toml:"pd_addr"`
	} `toml:"raft"`
	Logger struct {
		Log      string `toml:"log"`
		ErrorLog string `toml:"errorlog"`
	} `toml:"logger"`
	Status struct {
		MetricsPort int `toml:"metrics_port"`
	} `toml:"status"`
}

// proxyConfig is the configuration of the part that takes part in Raft.
type proxyConfig struct {
	LogLevel string `toml:"log-level"`
	Server   struct {
		Engine          string `toml:"engine-addr"`
		Status          string `toml:"status-addr"`
		AdvertiseStatus string `toml:"advertise-status-addr"`
	} `toml:"server"`
}

// parseTiFlash reads "server --config-file FILE", and after "--" the keys of the configuration that are set otherwise.
func parseTiFlash(arguments []string) (options, error) {
	none := options{}
	if len(arguments) == 1 && strings.TrimLeft(arguments[0], "-") == "version" {
		return options{printVersion: true}, nil
	}
	if len(arguments) == 0 || arguments[0] != "server" {
		return none, fmt.Errorf("usage: tiflash server --config-file FILE [-- --KEY VALUE …]")
	}
	var path string
	given := map[string]string{}
	for rest := arguments[1:]; len(rest) > 0; {
		if rest[0] == "--" {
			rest = rest[1:]
			continue
		}
		name, value, after, err := nextFlag(rest)
		if err != nil {
			return none, err
		}
		rest = after
		if name == "config-file" || name == "config" {
			path = value
		} else {
			given[name] = value
		}
	}
	return readTiFlash(path, given)
}

func readTiFlash(path string, given map[string]string) (options, error) {
	var c tiflashConfig
	c.Status.MetricsPort = 8234
	if _, err := toml.DecodeFile(path, &c); err != nil {
		return options{}, fmt.Errorf("read the configuration: %w", err)
	}
	p := c.Flash.Proxy
	proxy := proxyConfig{LogLevel: "info"}
	proxy.Server.Status = "0.0.0.0:20292"
	if p.Config != "" {
		if _, err := toml.DecodeFile(p.Config, &proxy); err != nil {
			return options{}, fmt.Errorf("read the configuration of the proxy: %w", err)
		}
	}
	first := func(values ...string) string {
		for _, value := range values {
			if value != "" {
				return value
			}
		}
		return ""
	}
	service := first(given["flash.service_addr"], c.Flash.Service, "0.0.0.0:3930")
	o := options{
		pd:         strings.Split(first(given["raft.pd_addr"], c.Raft.PD, "127.0.0.1:2379"), ","),
		address:    first(p.Address, "0.0.0.0:20170"),
		service:    service,
		advertise:  first(proxy.Server.Engine, p.Engine, service),
		peer:       first(given["flash.proxy.advertise-addr"], p.Advertise, p.Address),
		status:     proxy.Server.Status,
		dataDir:    first(given["flash.proxy.data-dir"], p.DataDir, "/data0/proxy"),
		config:     p.Config,
		logLevel:   strings.ToLower(proxy.LogLevel),
		logFile:    c.Logger.Log,
		otherFiles: []string{c.Logger.ErrorLog, c.Flash.Cluster.Log},
		metrics:    fmt.Sprintf("0.0.0.0:%d", c.Status.MetricsPort),
		labels:     map[string]string{},
	}
	o.advertiseStatus = first(
		given["flash.proxy.advertise-status-addr"], p.AdvertiseStatus, proxy.Server.AdvertiseStatus, o.status)
	if given["labels"] != "" {
		if err := o.addLabels(given["labels"]); err != nil {
			return options{}, err
		}
	}
	o.labels["engine"] = tiflashName
	return o, nil
}

// createFiles makes the files that TiFlash writes to, which are followed by other containers of a pod.
func createFiles(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("create a folder for logs: %w", err)
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return fmt.Errorf("create a log: %w", err)
		}
		if err := file.Close(); err != nil {
			return fmt.Errorf("create a log: %w", err)
		}
	}
	return nil
}
