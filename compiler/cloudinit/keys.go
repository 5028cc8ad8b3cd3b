package cloudinit

import (
	"slices"
	"strings"
)

// keys are the top-level keys of cloud-configs: cloud-init's schema (Debian's 22.4; a test compares them), those of older
// and newer versions, and those that other systems read.
var keys = strings.Fields(`
	add_apt_repo_match allow_public_ssh_keys ansible apk_repos apt apt_custom_sources_list apt_ftp_proxy apt_http_proxy apt_https_proxy apt_mirror
	apt_mirror_search apt_mirror_search_dns apt_pipelining apt_preserve_sources_list apt_proxy apt_reboot_if_required apt_sources apt_update
	apt_update_upgrade apt_upgrade authkey_hash autoinstall bind9 bootcmd bootstrap byobu byobu_by_default ca-certs ca_certs chef chef_license chpasswd
	cleanup cloud_config_modules cloud_final_modules cloud_init_modules cloud_type coreos create_hostname_file datasource datasource_list debug
	def_log_file default_user device_aliases disable_ec2_metadata disable_network_activation disable_root disable_root_opts disk_setup drivers fan
	final_message fqdn fs_setup groups growpart growroot grub-dpkg grub_dpkg hostname include interactive k3os keyboard landscape launch-index locale
	locale_configfile lxc lxd manage-resolv-conf manage_etc_hosts manage_resolv_conf mcollective merge_how merge_type migrate mount_default_fields mounts
	network no-ssh-fingerprints no_ssh_fingerprints ntp output package_reboot_if_required package_update package_upgrade packages password phone_home
	power_state prefer_fqdn_over_hostname preserve_hostname puppet rancher random_seed reporting resize_rootfs resize_rootfs_tmp resolv_conf
	rh_subscription rpi rsyslog rsyslog_dir rsyslog_filename rsyslog_remotes run_dir runcmd salt_minion snap snappy spacewalk ssh ssh_authorized_keys
	ssh_deletekeys ssh_fp_console_blacklist ssh_genkeytypes ssh_import_id ssh_key_console_blacklist ssh_keys ssh_publish_hostkeys ssh_pwauth
	ssh_quiet_keygen swap swift syslog_fix_perms system_info timezone ubuntu-advantage ubuntu_advantage ubuntu_pro updates user users vendor_data
	vendor_data2 warnings wireguard write_files write_files_deferred yum_repo_dir yum_repos zypper`)

// Keys are the top-level keys that a cloud-config may have.
func Keys() []string { return keys }

// IsList reports whether cloud-init fails if the key is not a list
// (cloudinit.util.shellify, cc_write_files).
func IsList(key string) bool {
	return slices.Contains([]string{"runcmd", "bootcmd", "write_files"}, key)
}
