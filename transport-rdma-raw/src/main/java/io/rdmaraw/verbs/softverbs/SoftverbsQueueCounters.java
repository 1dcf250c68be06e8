package io.rdmaraw.verbs.softverbs;

import io.rdmaraw.ffi.NativeMemory;

/**
 * Frames transferred, and drops by reason ({@code struct softverbs_queue_counters}).
 *
 * @param frames           frames transferred
 * @param bytes            bytes transferred
 * @param noMatch          sent frames that matched no rule
 * @param droppedByRule    sent frames that matched a drop rule
 * @param blockedSelf      own multicast frames not delivered to the sender
 * @param portDown         frames sent while the port was down, or received by an inactive leg of a bond
 * @param tooManyCopies    copies beyond the limit per frame
 * @param noReceive        received frames without a posted receive
 * @param notReady         frames received while the queue was not ready
 * @param lengthErrors     frames longer than the MTU or than the receive buffers
 * @param protectionErrors SGEs outside their memory region
 * @param flushed          requests completed with a flush error
 * @param injectedErrors   completions failed on request, for tests
 * @param cqOverruns       completions lost because the completion queue was full
 * @param ringFull         sent frames that the interface rejected, or received frames lost because its ring was
 *                         full
 * @param copied           frames copied between registered memory and the interface's rings
 * @param synRingFull      received SYNs dropped because their rate exceeded the limit
 * @param unsolicitedDrops received TCP segments without a connection dropped because their rate exceeded the
 *                         limit
 * @param unserved         sent frames dropped because the interface no longer has their send queue, or frames
 *                         received by a queue of the interface without a socket, which the kernel
 *                         received instead. Or frames of a leg of a bond without sockets, which are dropped
 * @param partialChecksums checksums of received frames that a sender on the same host omitted and softverbs
 *                         computed
 * @param gsoFrames        received GSO frames that were segmented, or large sends that left as
 *                         one packet
 * @param gsoSegments      frames resulting from this segmentation, or segments of these large sends
 * @param gsoFlagDrops         dropped GSO frames of TCP with SYN, RST or URG
 * @param gsoMalformedDrops     dropped GSO frames with contradictory lengths or a wrong checksum
 * @param gsoTooLongDrops       dropped packets larger than 64 KB
 * @param gsoDatagrams     GSO frames of UDP, which the kernel received instead
 * @param gsoUnsegmented GSO frames of TCP delivered without segmentation
 * @param driverNoBuffer   frames that the interface dropped for lack of buffers, plus the times its driver
 *                         found no free chunk in zero copy
 */
public record SoftverbsQueueCounters(long frames, long bytes, long noMatch, long droppedByRule, long blockedSelf,
        long portDown, long tooManyCopies, long noReceive, long notReady, long lengthErrors, long protectionErrors,
        long flushed, long injectedErrors, long cqOverruns, long ringFull, long copied,
        long synRingFull, long unsolicitedDrops, long unserved, long partialChecksums,
        long gsoFrames, long gsoSegments, long gsoFlagDrops, long gsoMalformedDrops, long gsoTooLongDrops,
        long gsoDatagrams, long gsoUnsegmented, long driverNoBuffer) {
    /** Size of the structure. */
    public static final int SIZE_BYTES = 28 * Long.BYTES;

    /** Reads the structure at an address. */
    public static SoftverbsQueueCounters read(long address) {
        return new SoftverbsQueueCounters(word(address, 0), word(address, 1), word(address, 2), word(address, 3),
                word(address, 4), word(address, 5), word(address, 6), word(address, 7),
                word(address, 8), word(address, 9), word(address, 10), word(address, 11),
                word(address, 12), word(address, 13), word(address, 14), word(address, 15),
                word(address, 16), word(address, 17), word(address, 18), word(address, 19),
                word(address, 20), word(address, 21), word(address, 22), word(address, 23),
                word(address, 24), word(address, 25), word(address, 26), word(address, 27));
    }

    private static long word(long address, int index) {
        return NativeMemory.getLong(address + (long) index * Long.BYTES);
    }
}
