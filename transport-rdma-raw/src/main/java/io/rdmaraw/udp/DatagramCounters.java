package io.rdmaraw.udp;

import io.rdmaraw.net.PacketReassembly;

/**
 * The counters of one datagram channel. The event loop updates them with plain stores; other threads may read slightly
 * outdated values.
 */
public final class DatagramCounters {
    public long receivedDatagrams;
    public long receivedBytes;
    public long receivedByKernel;
    public long receivedUnsteered;
    public long droppedBadChecksum;
    public long droppedMalformed;
    public long droppedMartians;
    public long droppedForeignVlans;
    public long droppedNotForChannel;
    public long droppedNotRead;
    public long droppedAtClose;
    public long droppedUnallocated;
    public long copiedForAllocator;
    public final PacketReassembly.Counters fragments = new PacketReassembly.Counters();
    public long sentDatagrams;
    public long sentBytes;
    public long sentFragments;
    public long sentByKernel;
    public long sentToSelf;
    public long portUnreachable;
    public long droppedUnresolved;
    public boolean coarselySteered;
}
