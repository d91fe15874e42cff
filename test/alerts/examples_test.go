// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package alerts

// examples are about each alert at least once when it fires, and once when it must not.
var examples = map[string][]example{
	"EspalierNobodyWorks": {
		{"nobody was ever there", nil, 5, []string{`{}`}},
		{"all wait", []string{
			`leader_election_master_status{name="espalier-controller", pod="a"} 0x10`,
			`leader_election_master_status{name="espalier-controller", pod="b"} 0x10`,
		}, 10, []string{`{}`}},
		{"only another program leads", []string{`leader_election_master_status{name="other", pod="a"} 1x10`}, 10, []string{`{}`}},
		{"one leads", []string{
			`leader_election_master_status{name="espalier-controller", pod="a"} 0x10`,
			`leader_election_master_status{name="espalier-controller", pod="b"} 1x10`,
		}, 10, nil},
		{"another one takes over", []string{
			`leader_election_master_status{name="espalier-controller", pod="a"} 1x5 0x10`,
			`leader_election_master_status{name="espalier-controller", pod="b"} 0x8 1x7`,
		}, 9, nil},
	},
	// The samples begin at 1772366400.
	"EspalierNobodyWorksOnShard": {
		{"one of two", []string{
			`espalier_shard_renewed_timestamp_seconds{lease="a", shard="1", shards="2", pod="a"} 1772366400+60x10`,
			`espalier_shard_renewed_timestamp_seconds{lease="a", shard="2", shards="2", pod="a"} 1772366400+60x2 1772366520x10`,
		}, 8, []string{`{lease="a", shard="2", shards="2"}`}},
		{"not long enough", []string{
			`espalier_shard_renewed_timestamp_seconds{lease="a", shard="2", shards="2", pod="a"} 1772366400+60x2 1772366520x10`,
		}, 7, nil},
		{"the same number under another lease", []string{
			`espalier_shard_renewed_timestamp_seconds{lease="a", shard="2", shards="2", pod="a"} 1772366400x10`,
			`espalier_shard_renewed_timestamp_seconds{lease="b", shard="2", shards="2", pod="b"} 1772366400+60x10`,
		}, 8, []string{`{lease="a", shard="2", shards="2"}`}},
		{"one reporter hangs", []string{
			`espalier_shard_renewed_timestamp_seconds{lease="a", shard="2", shards="2", pod="a"} 1772366400x10`,
			`espalier_shard_renewed_timestamp_seconds{lease="a", shard="2", shards="2", pod="b"} 1772366400+60x10`,
		}, 8, nil},
		{"taken again", []string{
			`espalier_shard_renewed_timestamp_seconds{lease="a", shard="2", shards="2", pod="a"} 1772366400x4 1772366700+60x10`,
		}, 8, nil},
		{"no shards", []string{`leader_election_master_status{name="espalier-controller", pod="a"} 1x10`}, 8, nil},
	},
	"EspalierJobsFail": {
		{"two of three", []string{
			`espalier_job_duration_seconds_count{result="Failed"} 0+2x60`, `espalier_job_duration_seconds_count{result="Succeeded"} 0+1x60`,
		}, 60, []string{`{}`}},
		{"deletions", []string{
			`espalier_job_duration_seconds_count{result="DeleteFailed"} 0+2x60`, `espalier_job_duration_seconds_count{result="Deleted"} 0+1x60`,
		}, 60, []string{`{}`}},
		{"one of three", []string{
			`espalier_job_duration_seconds_count{result="Failed"} 0+1x60`, `espalier_job_duration_seconds_count{result="Succeeded"} 0+2x60`,
		}, 60, nil},
		{"long ago", []string{
			`espalier_job_duration_seconds_count{result="Failed"} 0+6x20 120x60`, `espalier_job_duration_seconds_count{result="Succeeded"} 0+1x80`,
		}, 80, nil},
		{"no jobs", []string{
			`espalier_job_duration_seconds_count{result="Failed"} 7x60`, `espalier_job_duration_seconds_count{result="Succeeded"} 3x60`,
		}, 60, nil},
	},
	"EspalierInstallationsFailed": {
		{"for an hour", []string{
			`espalier_objects{kind="Installation", phase="Failed"} 1x70`, `espalier_objects{kind="Installation", phase="Succeeded"} 5x70`,
		}, 61, []string{`{}`}},
		{"in deletion", []string{`espalier_objects{kind="Installation", phase="DeleteFailed"} 1x70`}, 61, []string{`{}`}},
		{"fixed in time", []string{`espalier_objects{kind="Installation", phase="Failed"} 1x30 0x5 1x40`}, 70, nil},
		{"other kinds", []string{`espalier_objects{kind="Execution", phase="Failed"} 1x70`}, 61, nil},
		{"other phases", []string{`espalier_objects{kind="Installation", phase="Progressing"} 9x70`}, 61, nil},
	},
	"EspalierJobHangs": {
		{"five hours", []string{
			`espalier_waiting_longest_seconds{kind="Installation", reason="ImportNotFound"} 0+60x300`,
			`espalier_waiting_longest_seconds{kind="Execution", reason="Progressing"} 0+1x300`,
		}, 260, []string{`{kind="Installation", reason="ImportNotFound"}`}},
		{"not long enough", []string{`espalier_waiting_longest_seconds{kind="Installation", reason="ImportNotFound"} 0+60x300`}, 250, nil},
		{"one after the other", []string{
			`espalier_waiting_longest_seconds{kind="Installation", reason="ImportNotFound"} 0+60x100 0+60x100 0+60x100`,
		}, 300, nil},
	},
	"EspalierDeployItemsTimeOut": {
		{"one", []string{`espalier_deployitem_duration_seconds_count{deployer="deployitems", result="Failed"} 0x5 1x10`}, 10, []string{`{}`}},
		{"none", []string{`espalier_deployitem_duration_seconds_count{deployer="deployitems", result="Failed"} 1x15`}, 10, nil},
		{"another failure", []string{
			`espalier_deployitem_duration_seconds_count{deployer="deployitems", result="Failed"} 0x15`,
			`espalier_deployitem_duration_seconds_count{deployer="deployer-helm", result="Failed"} 0+1x15`,
		}, 10, nil},
	},
	"EspalierTargetDown": {
		{"one of two", []string{
			`espalier_target_up{target_namespace="a", target="near"} 1x20`, `espalier_target_up{target_namespace="a", target="far"} 0x20`,
		}, 12, []string{`{target="far", target_namespace="a"}`}},
		{"seen differently", []string{
			`espalier_target_up{target_namespace="a", target="far", pod="a"} 1x20`, `espalier_target_up{target_namespace="a", target="far", pod="b"} 0x20`,
		}, 12, []string{`{target="far", target_namespace="a"}`}},
		{"now and then", []string{`espalier_target_up{target_namespace="a", target="far"} 0x6 1x2 0x6`}, 14, nil},
		{"all well", []string{`espalier_target_up{target_namespace="a", target="near"} 1x20`}, 12, nil},
	},
	"EspalierRetriesPileUp": {
		{"two a second", []string{
			`espalier_loop_passes_total{kind="installation", outcome="retry"} 0+120x60`, `espalier_loop_passes_total{kind="execution", outcome="retry"} 0+1x60`,
		}, 50, []string{`{kind="installation"}`}},
		{"one in two seconds", []string{`espalier_loop_passes_total{kind="installation", outcome="retry"} 0+30x60`}, 50, nil},
		{"work", []string{`espalier_loop_passes_total{kind="installation", outcome="settled"} 0+600x60`}, 50, nil},
		{"for a moment", []string{`espalier_loop_passes_total{kind="installation", outcome="retry"} 0x30 0+120x10 1200x30`}, 50, nil},
	},
	"EspalierPromotionsHeld": {
		{"failed", []string{
			`espalier_pipeline_holds{reason="Failed"} 1x40`, `espalier_pipeline_holds{reason="NoStrategy"} 0x40`,
		}, 35, []string{`{reason="Failed"}`}},
		{"as intended", []string{`espalier_pipeline_holds{reason="MinHealthy"} 3x40`, `espalier_pipeline_holds{reason="Failed"} 0x40`}, 35, nil},
		{"retried", []string{`espalier_pipeline_holds{reason="Failed"} 1x20 0x1 1x20`}, 40, nil},
	},
	"EspalierClusterOutOfSight": {
		{"a quarter of an hour", []string{
			`espalier_fleet_sync_age_seconds{cluster="far"} 0+60x30`, `espalier_fleet_sync_age_seconds{cluster="near"} 0x30`,
		}, 22, []string{`{cluster="far"}`}},
		{"soon", []string{`espalier_fleet_sync_age_seconds{cluster="far"} 0+60x30`}, 18, nil},
		{"seen again", []string{`espalier_fleet_sync_age_seconds{cluster="far"} 0+60x17 0+60x17`}, 22, nil},
	},
}
