package io.rdmaraw.tools.pcap;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Writes Ethernet frames to a pcapng file (draft-ietf-opsawg-pcapng) with nanosecond timestamps, in little-endian
 * order. Not thread-safe.
 */
public final class PcapngWriter implements AutoCloseable {
    private static final int SECTION_HEADER = 0x0a0d0d0a;
    private static final int INTERFACE_DESCRIPTION = 1;
    private static final int INTERFACE_STATISTICS = 5;
    private static final int ENHANCED_PACKET = 6;
    private static final int BYTE_ORDER_MAGIC = 0x1a2b3c4d;
    private static final int LINKTYPE_ETHERNET = 1;
    private static final int SECTION_LENGTH_UNKNOWN = -1;
    private static final int OPTION_COMMENT = 1;
    private static final int OPTION_USER_APPLICATION = 4;
    private static final int OPTION_INTERFACE_NAME = 2;
    private static final int OPTION_INTERFACE_DESCRIPTION = 3;
    private static final int OPTION_TIME_RESOLUTION = 9;
    private static final int OPTION_FILTER = 11;
    private static final int OPTION_PACKET_FLAGS = 2;
    private static final int OPTION_RECEIVED = 4;
    private static final int OPTION_DROPPED = 5;
    private static final byte NANOSECONDS = 9;
    private static final int INBOUND = 1;
    private static final int OUTBOUND = 2;
    private static final int BUFFER_BYTES = 1 << 16;
    /** Room for a block without its frame and texts. */
    private static final int BLOCK_BYTES = 128;

    private final OutputStream out;
    private ByteBuffer block = ByteBuffer.allocate(1 << 12).order(ByteOrder.LITTLE_ENDIAN);
    private long writtenBytes;
    private int interfaces;

    /**
     * Creates a writer. {@link #close()} closes the stream.
     *
     * @param application name of the program, for the header
     */
    public PcapngWriter(OutputStream out, String application) throws IOException {
        this.out = new BufferedOutputStream(out, BUFFER_BYTES);
        begin(SECTION_HEADER, application.length() * 3);
        block.putInt(BYTE_ORDER_MAGIC).putShort((short) 1).putShort((short) 0).putLong(SECTION_LENGTH_UNKNOWN);
        option(OPTION_USER_APPLICATION, application.getBytes(StandardCharsets.UTF_8));
        end();
    }

    /**
     * Adds an interface.
     *
     * @param filter the filter in the language of pcap-filter(7), or an empty text
     * @return the index of the interface
     */
    public int addInterface(String name, String description, int snapBytes, String filter) throws IOException {
        begin(INTERFACE_DESCRIPTION, 3 * (name.length() + description.length() + filter.length()));
        block.putShort((short) LINKTYPE_ETHERNET).putShort((short) 0).putInt(snapBytes);
        option(OPTION_INTERFACE_NAME, name.getBytes(StandardCharsets.UTF_8));
        option(OPTION_INTERFACE_DESCRIPTION, description.getBytes(StandardCharsets.UTF_8));
        option(OPTION_TIME_RESOLUTION, new byte[] {NANOSECONDS});
        if (!filter.isEmpty()) {
            // Its first byte is 0: the filter is text.
            option(OPTION_FILTER, ('\0' + filter).getBytes(StandardCharsets.UTF_8));
        }
        end();
        return interfaces++;
    }

    /**
     * Appends a frame.
     *
     * @param timestampNanos nanoseconds since 1970
     * @param bytes          the captured bytes
     * @param lengthBytes    length of the whole frame
     * @param comments       texts that Wireshark shows beside the frame
     */
    public void write(int interfaceIndex, boolean sent, long timestampNanos, byte[] bytes, int lengthBytes,
            List<String> comments) throws IOException {
        begin(ENHANCED_PACKET, bytes.length + comments.stream().mapToInt(text -> 8 + 3 * text.length()).sum());
        block.putInt(interfaceIndex);
        putTime(timestampNanos);
        block.putInt(bytes.length).putInt(lengthBytes).put(bytes);
        pad();
        for (String comment : comments) {
            option(OPTION_COMMENT, comment.getBytes(StandardCharsets.UTF_8));
        }
        option(OPTION_PACKET_FLAGS, new byte[] {(byte) (sent ? OUTBOUND : INBOUND), 0, 0, 0});
        end();
    }

    /** Appends the counters of an interface: frames that the filter has seen, and frames that were not captured. */
    public void writeStatistics(int interfaceIndex, long timestampNanos, long received, long dropped)
            throws IOException {
        begin(INTERFACE_STATISTICS, 0);
        block.putInt(interfaceIndex);
        putTime(timestampNanos);
        block.putShort((short) OPTION_RECEIVED).putShort((short) Long.BYTES).putLong(received);
        block.putShort((short) OPTION_DROPPED).putShort((short) Long.BYTES).putLong(dropped);
        end();
    }

    private void begin(int type, int variableBytes) {
        if (block.capacity() < BLOCK_BYTES + variableBytes) {
            block = ByteBuffer.allocate(2 * (BLOCK_BYTES + variableBytes)).order(ByteOrder.LITTLE_ENDIAN);
        }
        block.clear().putInt(type).putInt(0);
    }

    private void putTime(long nanos) {
        block.putInt((int) (nanos >>> 32)).putInt((int) nanos);
    }

    private void option(int code, byte[] value) {
        block.putShort((short) code).putShort((short) value.length).put(value);
        pad();
    }

    private void pad() {
        while ((block.position() & 3) != 0) {
            block.put((byte) 0);
        }
    }

    /** Ends the options and the block, and writes the block. */
    private void end() throws IOException {
        block.putInt(0);
        int length = block.position() + Integer.BYTES;
        block.putInt(length).putInt(4, length);
        out.write(block.array(), 0, length);
        writtenBytes += length;
    }

    /** Returns the length of the file. */
    public long writtenBytes() {
        return writtenBytes;
    }

    /** Writes the buffered bytes to the stream. */
    public void flush() throws IOException {
        out.flush();
    }

    @Override
    public void close() throws IOException {
        out.close();
    }
}
