package io.rdmaraw.verbs.softverbs;

/**
 * Counters of a device that verbs does not have, since the device was first opened and for all of its queues.
 * Devices other than those of softverbs have {@link #NONE}.
 *
 * @param ringFullDrops      frames dropped by the interface because its ring was full
 * @param synRingFullDrops   SYNs dropped because their rate exceeded the limit
 * @param unsolicitedDrops   TCP segments without a connection dropped because their rate exceeded the limit
 * @param driverDrops        frames that the interface dropped for lack of buffers, plus the times its driver
 *                           found no free chunk in zero copy
 * @param unservedFrames     frames received by a queue of the interface, or by a leg of a bond, that has no socket
 * @param inactiveLegDrops   frames received by a leg by which the bond does not receive
 * @param noReceiveDrops     frames dropped because no receive was posted on their queue
 * @param interfaceDrops     sent frames that the interface rejected because it was busy or down
 * @param sendQueueDrops     sent frames dropped because the interface no longer has their send queue, or because the
 *                           leg of a bond that sends has no socket
 * @param copiedFromRing     received frames copied out of the interface's ring
 * @param tooLongDrops       frames longer than the MTU or than the receive buffers
 * @param largeSends         TCP payloads of several segments passed to the kernel as one packet
 * @param fromSameHost       counters of frames from senders on the same host, which leave work to hardware that
 *                           does not exist
 * @param kernelVisibleRules installed rules with frames that the kernel also receives and may answer
 */
public record DeviceCounters(long ringFullDrops, long synRingFullDrops, long unsolicitedDrops, long driverDrops,
        long unservedFrames, long inactiveLegDrops, long noReceiveDrops, long interfaceDrops, long sendQueueDrops,
        long copiedFromRing, long tooLongDrops, long largeSends, FromSameHost fromSameHost, long kernelVisibleRules) {
    /** The counters of devices without counters. */
    public static final DeviceCounters NONE = new DeviceCounters(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            new FromSameHost(0, 0, 0, 0, 0, 0, 0, 0), 0);

    /**
     * Frames that the kernel prepared for hardware with checksum and segmentation offloads. Between the ends of
     * a veth pair there is no such hardware.
     *
     * @param partialChecksums  checksums that the sender omitted and the device computed
     * @param gsoFrames         GSO frames that the device segmented
     * @param gsoSegments       frames resulting from this segmentation
     * @param gsoUnsegmented    GSO frames of TCP delivered without segmentation
     * @param flagDrops         dropped GSO frames of TCP with SYN, RST or URG
     * @param malformedDrops    dropped GSO frames with contradictory lengths or a wrong
     *                          checksum
     * @param tooLongDrops      dropped packets larger than 64 KB
     * @param datagramsToKernel GSO frames of UDP left to the kernel
     */
    public record FromSameHost(long partialChecksums, long gsoFrames, long gsoSegments, long gsoUnsegmented,
            long flagDrops, long malformedDrops, long tooLongDrops, long datagramsToKernel) {
    }

    /** Returns these counters as they remain after the device is closed: without installed rules. */
    public DeviceCounters withoutRules() {
        return new DeviceCounters(ringFullDrops, synRingFullDrops, unsolicitedDrops, driverDrops, unservedFrames,
                inactiveLegDrops, noReceiveDrops, interfaceDrops, sendQueueDrops, copiedFromRing, tooLongDrops,
                largeSends, fromSameHost, 0);
    }
}
