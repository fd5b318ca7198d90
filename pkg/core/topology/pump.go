package topology

import (
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var readPump = reading{
	kind: Pump,
	spec: func(tc *v1alpha1.TidbCluster) (component, bool) {
		pump := tc.Spec.Pump
		if pump == nil {
			return component{}, false
		}
		return component{
			ComponentSpec: &pump.ComponentSpec, whole: pump, accessor: tc.BasePumpSpec(), image: *tc.PumpImage(), baseImage: &pump.BaseImage,
			replicas: &pump.Replicas, disks: []disk{{volume: Pump.DataVolume(), requests: pump.Requests, at: field.NewPath("spec", "pump")}}, class: &pump.StorageClassName, attributes: pump.VolumeAttributesClassName,
			configs: listOf(pump.Config),
		}, true
	},
	group: func(tc *v1alpha1.TidbCluster, g *Group) { g.Binlog = tc.IsTiDBBinlogEnabled() },
	defaults: func(tc *v1alpha1.TidbCluster) {
		pump := tc.Spec.Pump
		setString(&pump.BaseImage, pumpImage)
		if pump.Config == nil {
			pump.Config = config.New(map[string]any{})
		}
	},
	validate: func(spec v1alpha1.TidbClusterSpec, at *field.Path) field.ErrorList {
		return validatePump(spec.Pump.Config, at.Child("config"))
	},
	runsFor:  writtenTo,
	called:   Cluster.PumpHost,
	warnings: warningsPump,
	noConfig: `""`,
	instead:  "to have no Pump set spec.tidb.binlogEnabled to false, and then its replicas to 0",
}

// validatePump checks what the command line of Pump, and its certificates, are made of.
func validatePump(c *config.GenericConfig, at *field.Path) field.ErrorList {
	if wrong := notTable(c.MP, "security"); wrong != "" {
		return field.ErrorList{field.Invalid(at.Key(wrong), "…", "must be a table")}
	}
	if v := c.Get("log-level"); v != nil {
		if _, err := v.AsString(); err != nil {
			return field.ErrorList{field.Invalid(at.Key("log-level"), "…", "must be text")}
		}
	}
	return nil
}

func warningsPump(_ *Cluster, c Cluster, at *field.Path) []Warning {
	var warnings []Warning
	pump := c.Written.Spec.Pump
	if len(pump.AdditionalVolumes) > 0 {
		warnings = append(warnings, warn(at.Child("additionalVolumes"), "has no effect: pods of Pump have no volumes but their own"))
	}
	if len(pump.AdditionalVolumeMounts) > 0 {
		warnings = append(warnings, warn(at.Child("additionalVolumeMounts"), "has no effect: pods of Pump have no volumes but their own"))
	}
	if pump.ReadinessProbe != nil {
		warnings = append(warnings, warn(at.Child("readinessProbe"), "has no effect: the probe of Pump connects to its port"))
	}
	return warnings
}

// PumpHost returns the name under which a Pump registers, e.g. "basic-pump-0.basic-pump": TiDB servers
// are in its namespace.
func (c Cluster) PumpHost(ordinal int) string {
	if c.Domain != "" || c.SpansK8s() {
		return c.PodHost(Pump, ordinal)
	}
	return c.PodName(Pump, ordinal) + "." + c.PeerService(Pump)
}

// writtenTo returns why Pump cannot be suspended while TiDB servers run that write to Pump. They would fail at the next
// write.
func writtenTo(c Cluster) string {
	if db, _ := c.Group(TiDB); db.Active() == 0 || !db.Binlog {
		return ""
	}
	return "TiDB writes its binlog to Pump: suspend TiDB as well, or set spec.tidb.binlogEnabled to false"
}

// PumpOrdinal returns the member that has registered under an address, with or without a port, and an id. The address
// is the short name of the pod or any longer name. The labels are compared whole, because the name of a namespace can
// be the beginning of the name of a cluster. With another address, such as that of a host, the id remains: the name of
// the pod, and the port.
func (c Cluster) PumpOrdinal(address, id string) (int, bool) {
	host, _, _ := strings.Cut(address, ":")
	if c.SpansK8s() {
		return c.HostOrdinal(Pump, host)
	}
	labels := strings.Split(host, ".")
	if n, ok := c.Ordinal(Pump, host); ok {
		ours := (len(labels) < 2 || labels[1] == c.PeerService(Pump)) && (len(labels) < 3 || labels[2] == c.Namespace)
		return n, ours
	}
	pod, _, _ := strings.Cut(id, ":")
	return c.Ordinal(Pump, pod)
}

// PumpSilence is after how long without a write to PD's etcd a Pump counts as not serving. It is for a Pump that writes
// every two seconds. It is as short as can be: another Pump is closed because this one is said to take the binlog.
const PumpSilence = 20 * time.Second

// PumpSilence returns the same for the cluster's Pumps, which may be configured to write more seldom.
func (c Cluster) PumpSilence() time.Duration {
	if set := c.Source.Spec.Pump.Config.Get("heartbeat-interval"); set != nil {
		if seconds, err := set.AsInt(); err == nil {
			return max(PumpSilence, 5*time.Duration(seconds)*time.Second)
		}
	}
	return PumpSilence
}
