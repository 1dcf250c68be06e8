package io.rdmaraw.channel;

/** What the TCP of one loop has counted beside the core. Written by the loop; others read values a little old. */
final class TcpStackCounters {
    /** Connections that are open, with or without a channel. */
    long flows;
    /** Frames that the rules let through and that are no TCP segments. */
    long otherFrames;
    /** Segments to which there was no way. */
    long droppedUnroutable;
    /** Segments dropped because nobody told the next hop's MAC address in time. */
    long droppedUnresolved;
    /** Connections reset because nobody accepted those before them. */
    long refusedByBacklog;
    /** Connections that went to another loop, with their channels. */
    long movedConnections;
    /** Small payloads copied because receive slots ran low. */
    long copiedPayloads;
}
