package io.rdmaraw.host.userspace;

/** What an {@link UserspaceHost} has counted. Written by its thread; others read values that may be a little old. */
public final class UserspaceHostCounters {
    /** ARP packets received. */
    public long arpReceived;
    /** ARP requests answered. */
    public long arpAnswered;
    /** Neighbour solicitations received. */
    public long solicitationsReceived;
    /** Neighbour solicitations answered. */
    public long solicitationsAnswered;
    /** ARP requests and neighbour solicitations sent for the sake of others' addresses. */
    public long asked;
    /** Echo requests answered. */
    public long echoesAnswered;
    /** Datagrams to closed ports whose senders were told. */
    public long portsRefused;
    /** Senders that were told that the host cannot use their packets: protocols, extension headers, lost fragments. */
    public long packetErrors;
    /** Errors that were not sent, as there had been too many, of the same destination or of all. */
    public long errorsWithheld;
    /** Packets by which others claimed an address of ours. */
    public long addressConflicts;
    /** Questions of routers which groups are wanted: IGMP and MLD queries. */
    public long groupQueries;
    /** Times that the link was told which groups are wanted. */
    public long groupReports;
}
