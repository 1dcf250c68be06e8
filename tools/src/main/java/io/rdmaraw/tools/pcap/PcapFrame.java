package io.rdmaraw.tools.pcap;

/**
 * One record of a pcap file.
 *
 * @param timestampNanos      capture time in nanoseconds since 1970
 * @param bytes               captured bytes, starting with the destination address
 * @param originalLengthBytes length on the wire; more than {@code bytes.length} if the capture cut the frame
 */
public record PcapFrame(long timestampNanos, byte[] bytes, int originalLengthBytes) {
    /** Returns whether the capture contains only the first bytes of the frame. */
    public boolean isTruncated() {
        return bytes.length < originalLengthBytes;
    }
}
