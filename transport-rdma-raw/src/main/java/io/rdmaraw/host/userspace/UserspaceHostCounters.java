package io.rdmaraw.host.userspace;

/** Counters of a {@link UserspaceHostEngine}. Written by its thread; other threads may read slightly old values. */
public final class UserspaceHostCounters {
    /** ARP packets received. */
    public long arpReceived;
    /** ARP requests answered. */
    public long arpAnswered;
    /** Neighbour solicitations received. */
    public long solicitationsReceived;
    /** Neighbour solicitations answered. */
    public long solicitationsAnswered;
    /** ARP requests and neighbour solicitations sent to resolve other hosts. */
    public long addressRequestsSent;
    /** Echo requests answered. */
    public long echoesAnswered;
    /** ICMP errors sent for datagrams to closed ports. */
    public long portsRefused;
    /** ICMP errors sent for packets that the host cannot process: protocols, extension headers, lost fragments. */
    public long packetErrors;
    /** ICMP errors not sent because of the rate limit for the destination or for all. */
    public long errorsWithheld;
    /** Packets of other hosts that claim an address of this host. */
    public long addressConflicts;
    /** IGMP and MLD queries received from routers. */
    public long groupQueries;
    /** IGMP and MLD reports sent. */
    public long groupReports;
}
