package io.rdmaraw.verbs.softverbs;

import io.rdmaraw.ffi.NativeMemory;

/**
 * {@code struct softverbs_queue_counters}: frames that went through, and drops by reason.
 *
 * @param frames           frames that went through
 * @param bytes            bytes that went through
 * @param noMatch          sent, and no rule wanted them
 * @param droppedByRule    sent, and a drop rule took them
 * @param blockedSelf      own multicast that was withheld
 * @param portDown         sent while the port was down
 * @param tooManyCopies    copies beyond what one frame may have
 * @param noReceive        received without a receive posted
 * @param notReady         received while the queue was not ready
 * @param lengthErrors     longer than the MTU or than the receive's buffers
 * @param protectionErrors an SGE outside its memory region
 * @param flushed          requests completed with a flush error
 * @param injectedErrors   completions failed on demand
 * @param cqOverruns       completions lost because the completion queue was full
 * @param wireFull         sent, and the interface took no more; or received, and its ring was full
 * @param copied           frames copied between registered memory and the interface's rings
 * @param synsFull         received SYNs, when more came than were looked at
 * @param unsolicitedFull  received TCP segments of no connection, when more came than was looked at
 * @param unserved         received by a queue of the interface without a socket: the kernel got them
 * @param partialChecksums checksums of received frames that a sender on the same host had left out, computed
 * @param superFrames      received frames beyond the MTU that were cut; or large sends that left as one packet
 * @param cutFrames        what they were cut into; or how many segments they are
 * @param superFlags       received TCP frames beyond the MTU with SYN, RST or URG
 * @param superUnsound     received frames beyond the MTU whose headers contradict their length, or whose checksum is
 *                         wrong
 * @param superTooLong     received frames beyond 64 KB
 * @param superDatagrams   received UDP frames beyond the MTU: the kernel got them
 * @param wholeFrames      received TCP frames beyond the MTU that were not cut
 */
public record SoftverbsQueueCounters(long frames, long bytes, long noMatch, long droppedByRule, long blockedSelf,
        long portDown, long tooManyCopies, long noReceive, long notReady, long lengthErrors, long protectionErrors,
        long flushed, long injectedErrors, long cqOverruns, long wireFull, long copied,
        long synsFull, long unsolicitedFull, long unserved, long partialChecksums,
        long superFrames, long cutFrames, long superFlags, long superUnsound, long superTooLong,
        long superDatagrams, long wholeFrames) {
    /** Length of the structure. */
    public static final int SIZE_BYTES = 27 * Long.BYTES;

    /** Reads the structure at an address. */
    public static SoftverbsQueueCounters read(long address) {
        return new SoftverbsQueueCounters(word(address, 0), word(address, 1), word(address, 2), word(address, 3),
                word(address, 4), word(address, 5), word(address, 6), word(address, 7),
                word(address, 8), word(address, 9), word(address, 10), word(address, 11),
                word(address, 12), word(address, 13), word(address, 14), word(address, 15),
                word(address, 16), word(address, 17), word(address, 18), word(address, 19),
                word(address, 20), word(address, 21), word(address, 22), word(address, 23),
                word(address, 24), word(address, 25), word(address, 26));
    }

    private static long word(long address, int index) {
        return NativeMemory.getLong(address + (long) index * Long.BYTES);
    }
}
