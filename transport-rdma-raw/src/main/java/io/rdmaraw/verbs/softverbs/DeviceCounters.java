package io.rdmaraw.verbs.softverbs;

/**
 * What a device counts beyond verbs, since it was first opened and for all of its queues. Only the device of a provider
 * that counts has other values than {@link #NONE}.
 *
 * @param ringFullDrops frames that the interface dropped because its ring was full
 * @param synRingFullDrops SYNs that were dropped when more came than are looked at
 * @param unsolicitedDrops TCP segments of no connection that were dropped when more came than are looked at
 * @param unservedFrames frames that came by a receive queue of the interface without a socket
 * @param noReceiveDrops frames that came in while no receive was posted on their queue
 * @param copiedFromRing received frames that were copied out of the interface's ring
 * @param tooLongDrops frames that were longer than the MTU, or than the buffers of a receive
 * @param largeSends TCP payloads of several segments that were handed to the kernel as one packet each
 * @param fromSameHost what came from senders on the same host, which leave work to hardware that is not there
 * @param kernelVisibleRules rules in force that take frames that the kernel may answer too
 */
public record DeviceCounters(long ringFullDrops, long synRingFullDrops, long unsolicitedDrops, long unservedFrames,
        long noReceiveDrops, long copiedFromRing, long tooLongDrops, long largeSends,
        FromSameHost fromSameHost, long kernelVisibleRules) {
    /** Those of a device that does not count. */
    public static final DeviceCounters NONE = new DeviceCounters(0, 0, 0, 0, 0, 0, 0, 0,
            new FromSameHost(0, 0, 0, 0, 0, 0, 0, 0), 0);

    /**
     * Frames as the kernel makes them for hardware that computes checksums and segments. Between the ends of a veth
     * pair there is no such hardware.
     *
     * @param partialChecksums checksums that the sender had left out, and the device computed
     * @param superFrames frames beyond the MTU that the device cut
     * @param cutFrames what it cut them into
     * @param wholeFrames TCP frames beyond the MTU that were received as they were
     * @param flagDrops TCP frames beyond the MTU with SYN, RST or URG
     * @param unsoundDrops frames beyond the MTU whose headers contradict their length, or whose checksum is wrong
     * @param tooLongDrops frames beyond 64 KB
     * @param datagramsToKernel UDP frames beyond the MTU, which the device left to the kernel
     */
    public record FromSameHost(long partialChecksums, long superFrames, long cutFrames, long wholeFrames,
            long flagDrops, long unsoundDrops, long tooLongDrops, long datagramsToKernel) {
    }

    /** Returns these as they stay after the device is closed, when no rule is in force. */
    public DeviceCounters withoutRules() {
        return new DeviceCounters(ringFullDrops, synRingFullDrops, unsolicitedDrops, unservedFrames, noReceiveDrops,
                copiedFromRing, tooLongDrops, largeSends, fromSameHost, 0);
    }
}
