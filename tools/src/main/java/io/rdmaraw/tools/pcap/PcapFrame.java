package io.rdmaraw.tools.pcap;

/**
 * One record of a pcap file.
 *
 * @param timestampNanos      nanoseconds since 1970
 * @param bytes               the captured bytes, from the destination address on
 * @param originalLengthBytes the length on the wire; more than {@code bytes.length} when the capture cut the frame
 */
public record PcapFrame(long timestampNanos, byte[] bytes, int originalLengthBytes) {
    /** Returns whether the capture has only the first bytes of the frame. */
    public boolean isCut() {
        return bytes.length < originalLengthBytes;
    }
}
