package io.rdmaraw.tools.pktgen;

/** The syntax of flow rules for help texts. {@code FlowSpec.parse} implements it. */
final class FlowRuleHelp {
    static final String SYNTAX = "%nA rule is words and their values: all | port N, priority N |"
            + " dst-mac MAC[/MASK], src-mac MAC[/MASK], ether-type N[/MASK], vlan ID |"
            + " ip4, ip6, src ADDRESS[/PREFIX], dst ADDRESS[/PREFIX], proto N, tos N[/MASK], ttl N[/MASK] |"
            + " udp, tcp, src-port N[/MASK], dst-port N[/MASK] | vxlan VNI, inner. A frame has to match all of them."
            + " allow-host-traffic: even if that takes what this host needs.";

    private FlowRuleHelp() {
    }
}
