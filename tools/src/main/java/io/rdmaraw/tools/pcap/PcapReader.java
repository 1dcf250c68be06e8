package io.rdmaraw.tools.pcap;

import io.rdmaraw.pcap.PcapFormat;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Reads the Ethernet frames of a classic pcap file of either byte order and precision. Faults of the file are reported
 * as a {@link PcapException} with their position. Used by one thread.
 */
public final class PcapReader implements AutoCloseable {
    /** The block type at the start of a pcapng file. It is the same in both byte orders. */
    private static final int PCAPNG_MAGIC = 0x0a0d0d0a;
    /** Mask of the link type. The upper bits of the field hold the FCS length and flags. */
    private static final int LINKTYPE_MASK = 0xffff;

    private final InputStream in;
    private final String name;
    private final ByteBuffer recordHeader = ByteBuffer.allocate(PcapFormat.RECORD_HEADER_BYTES);
    private final int nanosPerFraction;
    private long frames;

    private PcapReader(InputStream in, String name, ByteOrder order, int nanosPerFraction) {
        this.in = in;
        this.name = name;
        this.nanosPerFraction = nanosPerFraction;
        recordHeader.order(order);
    }

    /**
     * Opens a file and checks its header.
     *
     * @throws PcapException if it is not a pcap file of Ethernet frames
     * @throws IOException if it cannot be read
     */
    public static PcapReader open(Path file) throws IOException {
        InputStream in = new BufferedInputStream(Files.newInputStream(file), 1 << 16);
        try {
            return open(in, file.toString());
        } catch (Throwable e) {
            in.close();
            throw e;
        }
    }

    /** Same as {@link #open(Path)} for a stream; the name is used in messages. */
    public static PcapReader open(InputStream in, String name) throws IOException {
        ByteBuffer header = ByteBuffer.wrap(in.readNBytes(PcapFormat.FILE_HEADER_BYTES));
        if (header.remaining() < Integer.BYTES) {
            throw new PcapException(name + " is not a pcap file: it has only " + header.remaining() + " bytes");
        }
        int magic = header.getInt(0);
        ByteOrder order = byteOrder(magic, name);
        if (header.remaining() < PcapFormat.FILE_HEADER_BYTES) {
            throw new PcapException(name + " is truncated inside the file header: " + header.remaining() + " of "
                    + PcapFormat.FILE_HEADER_BYTES + " bytes");
        }
        header.order(order);
        int versionMajor = Short.toUnsignedInt(header.getShort(4));
        if (versionMajor != PcapFormat.VERSION_MAJOR) {
            throw new PcapException(name + " has pcap version " + versionMajor + '.'
                    + Short.toUnsignedInt(header.getShort(6)) + "; only version 2 can be read");
        }
        int linkType = header.getInt(20) & LINKTYPE_MASK;
        if (linkType != PcapFormat.LINKTYPE_ETHERNET) {
            throw new PcapException(name + " has link type " + linkType
                    + ", not Ethernet (1): capture on an Ethernet interface, not on 'any'");
        }
        return new PcapReader(in, name, order, header.getInt(0) == PcapFormat.MAGIC_NANOS ? 1 : 1000);
    }

    private static ByteOrder byteOrder(int magicReadBigEndian, String name) throws PcapException {
        return switch (magicReadBigEndian) {
            case PcapFormat.MAGIC_MICROS, PcapFormat.MAGIC_NANOS -> ByteOrder.BIG_ENDIAN;
            case PCAPNG_MAGIC -> throw new PcapException(
                    name + " is a pcapng file; convert it with: editcap -F pcap " + name + " frames.pcap");
            default -> {
                int swapped = Integer.reverseBytes(magicReadBigEndian);
                if (swapped != PcapFormat.MAGIC_MICROS && swapped != PcapFormat.MAGIC_NANOS) {
                    throw new PcapException(name + " is not a pcap file: it begins with 0x"
                            + String.format("%08x", magicReadBigEndian));
                }
                yield ByteOrder.LITTLE_ENDIAN;
            }
        };
    }

    /**
     * Returns the next frame, or null after the last one.
     *
     * @throws PcapException if the file ends inside a record or the record is invalid
     */
    public PcapFrame next() throws IOException {
        int headerBytes = in.readNBytes(recordHeader.array(), 0, PcapFormat.RECORD_HEADER_BYTES);
        if (headerBytes == 0) {
            return null;
        }
        frames++;
        if (headerBytes < PcapFormat.RECORD_HEADER_BYTES) {
            throw new PcapException(name + " is truncated inside the header of frame " + frames);
        }
        long capturedBytes = Integer.toUnsignedLong(recordHeader.getInt(8));
        long originalBytes = Integer.toUnsignedLong(recordHeader.getInt(12));
        if (capturedBytes > PcapFormat.MAX_CAPTURED_BYTES || originalBytes > Integer.MAX_VALUE
                || capturedBytes > originalBytes) {
            throw new PcapException(name + " is damaged: frame " + frames + " claims " + capturedBytes
                    + " captured bytes of " + originalBytes);
        }
        byte[] bytes = in.readNBytes((int) capturedBytes);
        if (bytes.length < capturedBytes) {
            throw new PcapException(name + " is truncated inside frame " + frames + ": " + bytes.length + " of "
                    + capturedBytes + " bytes");
        }
        long timestampNanos = Integer.toUnsignedLong(recordHeader.getInt(0)) * 1_000_000_000L
                + Integer.toUnsignedLong(recordHeader.getInt(4)) * nanosPerFraction;
        return new PcapFrame(timestampNanos, bytes, (int) originalBytes);
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
