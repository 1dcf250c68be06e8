package io.rdmaraw.route;

/** What an {@link OwnHost} has counted. Written by its thread; others read values that may be a little old. */
public final class OwnHostCounters {
    long arpReceived;
    long arpAnswered;
    long solicitationsReceived;
    long solicitationsAnswered;
    long asked;
    long echoesAnswered;
    long portsRefused;
    long packetErrors;
    long errorsWithheld;
    long addressConflicts;
    long groupQueries;
    long groupReports;

    /** ARP packets received. */
    public long arpReceived() {
        return arpReceived;
    }

    /** ARP requests answered. */
    public long arpAnswered() {
        return arpAnswered;
    }

    /** Neighbour solicitations received. */
    public long solicitationsReceived() {
        return solicitationsReceived;
    }

    /** Neighbour solicitations answered. */
    public long solicitationsAnswered() {
        return solicitationsAnswered;
    }

    /** ARP requests and neighbour solicitations sent for the sake of others' addresses. */
    public long asked() {
        return asked;
    }

    /** Echo requests answered. */
    public long echoesAnswered() {
        return echoesAnswered;
    }

    /** Datagrams to ports that nobody has, of which the sender was told. */
    public long portsRefused() {
        return portsRefused;
    }

    /** Senders that were told that the host cannot use their packets: protocols, extension headers, lost fragments. */
    public long packetErrors() {
        return packetErrors;
    }

    /** Errors that were not sent, as there had been too many, of the same destination or of all. */
    public long errorsWithheld() {
        return errorsWithheld;
    }

    /** Packets by which others claimed an address of ours. */
    public long addressConflicts() {
        return addressConflicts;
    }

    /** Questions of routers which groups are wanted: IGMP and MLD queries. */
    public long groupQueries() {
        return groupQueries;
    }

    /** Times that the link was told which groups are wanted. */
    public long groupReports() {
        return groupReports;
    }
}
