package topology

// AnnotationRestore is on a TidbCluster while BR restores data. It has the settings of PD from before, which BR changes.
// The command that ends the restore puts these settings back.
const AnnotationRestore = "kubectl-tidb/pd-settings-before-restore"
