// Package build compiles the programs that the node is made of and keeps the results in a cache outside the repository,
// so that only the first start of a node pays for them.
package build

// Part is one binary: which module of the parts folder it comes from and how it is compiled.
type Part struct {
	// Name of the result; two parts can share a module, for example one server at two versions.
	Name string
	// Module is the folder under parts that holds the go.mod to build with.
	Module string
	// Package is the main package; "." when the module has its own.
	Package string
	Tags    string
	LDFlags string
	// Corrections of the libraries that it is built with.
	Corrections []Correction
}

const (
	// Versions that images are built at: an upgrade needs two.
	OldVersion = "v8.1.0"
	NewVersion = "v8.1.1"

	// TiProxy has versions of its own.
	OldTiProxy = "v1.0.0"
	NewTiProxy = "v1.1.0"

	// S3Version is that of the library that answers as S3 does.
	S3Version = "v1.2.0"

	// RcloneVersion is that of the image with which files of a bucket are deleted. The program in it is that of Debian.
	RcloneVersion = "1.69.1"

	// KubernetesVersion is what the API server and kubectl report; a library build has no version of its own.
	KubernetesVersion = "v1.36.3"
)

// Names of the parts that other packages pick up from a Set.
const (
	Kubernetes = "kubernetes"
	Etcd       = "etcd"
	CoreDNS    = "coredns"
	Kubectl    = "kubectl"
	Pause      = "pause"
	PD         = "pd"
	Store      = "store"
	TiDB       = "tidb"
	Pump       = "pump"
	TiCDC      = "ticdc"
	TiProxy    = "tiproxy"
	BR         = "br"
	S3         = "s3"
)

// Versioned names the part of a component at a version.
func Versioned(component, version string) string { return component + "-" + version }

const strip = "-s -w"

// Parts lists everything that the node runs, cheapest first so that a mistake shows early.
func Parts() []Part {
	parts := []Part{
		{Name: Pause, Module: "pause", Package: ".", LDFlags: strip},
		{Name: Etcd, Module: "etcd", Package: ".", LDFlags: strip},
		{Name: TiProxy, Module: "fixtures", Package: "./tiproxy", LDFlags: strip},
		{Name: TiCDC, Module: "fixtures", Package: "./ticdc", LDFlags: strip},
		{Name: S3, Module: "s3", Package: ".", LDFlags: strip},
		{Name: CoreDNS, Module: "coredns", Package: ".", LDFlags: strip},
		// Both stores share a binary, which learns its version from its image: it is the fixture's own main.
		// checklinkname: the 2020 libraries reach into the runtime, which newer linkers refuse.
		{
			Name: Store, Module: "store", Package: ".", LDFlags: strip + " -checklinkname=0",
			Corrections: storeCorrections(),
		},
		// Pump does not tell PD its version either, so all of its images have the same.
		{
			Name: Pump, Module: "pump", Package: "github.com/pingcap/tidb-binlog/cmd/pump", LDFlags: strip,
			Corrections: pumpCorrections(),
		},
	}
	for _, version := range []string{OldVersion, NewVersion} {
		parts = append(parts, Part{
			Name: Versioned(PD, version), Module: "pd", Package: "github.com/tikv/pd/cmd/pd-server",
			Tags:    "without_dashboard",
			LDFlags: strip + " -X github.com/tikv/pd/pkg/versioninfo.PDReleaseVersion=" + version,
		}, Part{
			Name: Versioned(TiDB, version), Module: "tidb", Package: "github.com/pingcap/tidb/tidb-server",
			LDFlags: strip + " -checklinkname=0 -X github.com/pingcap/parser/mysql.TiDBReleaseVersion=" + version,
		}, Part{
			// br refuses stores of another release. A br that is built without this flag has no release.
			Name: Versioned(BR, version), Module: "br", Package: "github.com/pingcap/br",
			LDFlags: strip + " -checklinkname=0 -X github.com/pingcap/br/pkg/utils.BRReleaseVersion=" + version,
		})
	}
	return append(parts,
		Part{Name: Kubectl, Module: "kubectl", Package: ".", LDFlags: strip + kubernetesVersionFlags()},
		Part{Name: Kubernetes, Module: "kubernetes", Package: ".", LDFlags: strip + kubernetesVersionFlags()},
	)
}

func kubernetesVersionFlags() string {
	const variable = " -X k8s.io/component-base/version."
	return variable + "gitVersion=" + KubernetesVersion + variable + "gitMajor=1" + variable + "gitMinor=36"
}
