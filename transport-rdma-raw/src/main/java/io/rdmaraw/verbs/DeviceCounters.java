package io.rdmaraw.verbs;

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
 * @param kernelVisibleRules rules in force that take frames that the kernel may answer too
 */
public record DeviceCounters(long ringFullDrops, long synRingFullDrops, long unsolicitedDrops, long unservedFrames,
        long noReceiveDrops, long copiedFromRing, long kernelVisibleRules) {
    /** Those of a device that does not count. */
    public static final DeviceCounters NONE = new DeviceCounters(0, 0, 0, 0, 0, 0, 0);

    /** Returns these as they stay after the device is closed, when no rule is in force. */
    public DeviceCounters withoutRules() {
        return new DeviceCounters(ringFullDrops, synRingFullDrops, unsolicitedDrops, unservedFrames, noReceiveDrops,
                copiedFromRing, 0);
    }
}
