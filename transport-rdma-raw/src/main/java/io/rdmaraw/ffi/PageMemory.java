package io.rdmaraw.ffi;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Page-aligned anonymous memory. Uses reserved huge pages if available, otherwise normal pages.
 *
 * <p>Registered memory is not allocated as a direct buffer, because a memory region pins whole pages. In
 * addition, 2 MiB pages cause fewer misses in the device's translation cache. Not thread-safe. Closing twice
 * has no effect.
 */
public final class PageMemory implements AutoCloseable {
    private static final long HUGE_PAGE_BYTES = 2L << 20;
    private static final long PAGE_BYTES = 4096;

    private final long address;
    private final long lengthBytes;
    private boolean closed;

    private PageMemory(long address, long lengthBytes) {
        this.address = address;
        this.lengthBytes = lengthBytes;
    }

    /**
     * Maps zeroed memory.
     *
     * @param minLengthBytes minimum length in bytes; rounded up to whole pages
     * @throws OutOfMemoryError if the system refuses
     */
    public static PageMemory map(long minLengthBytes) {
        if (minLengthBytes <= 0) {
            throw new IllegalArgumentException("length must be positive, was " + minLengthBytes + " bytes");
        }
        long hugeLengthBytes = roundUp(minLengthBytes, HUGE_PAGE_BYTES);
        if (hugeLengthBytes - minLengthBytes <= minLengthBytes) {
            long address = mapAnonymous(hugeLengthBytes, Libc.MAP_POPULATE | Libc.MAP_HUGETLB);
            if (address > 0) {
                return new PageMemory(address, hugeLengthBytes);
            }
        }
        if (minLengthBytes < HUGE_PAGE_BYTES) {
            long roundedBytes = roundUp(minLengthBytes, PAGE_BYTES);
            return new PageMemory(mapOrThrow(roundedBytes, Libc.MAP_POPULATE), roundedBytes);
        }
        return mapTransparent(hugeLengthBytes);
    }

    /**
     * Maps memory suitable for transparent huge pages: aligned, and advised before its first use, because the
     * kernel merges small pages only in the background. In a ring of 2 KiB slots every second frame is in
     * another small page, which is more than the TLB holds.
     */
    private static PageMemory mapTransparent(long lengthBytes) {
        long mapped = mapOrThrow(lengthBytes + HUGE_PAGE_BYTES, 0);
        long address = roundUp(mapped, HUGE_PAGE_BYTES);
        if (address > mapped) {
            Libc.munmap(mapped, address - mapped);
        }
        long excessBytes = mapped + HUGE_PAGE_BYTES - address;
        if (excessBytes > 0) {
            Libc.munmap(address + lengthBytes, excessBytes);
        }
        // A system without transparent huge pages rejects the advice, which does no harm.
        Libc.madvise(address, lengthBytes, Libc.MADV_HUGEPAGE);
        for (long page = 0; page < lengthBytes; page += PAGE_BYTES) {
            NativeMemory.putByte(address + page, (byte) 0);
        }
        return new PageMemory(address, lengthBytes);
    }

    private static long mapOrThrow(long lengthBytes, int flags) {
        long address = mapAnonymous(lengthBytes, flags);
        if (address < 0) {
            throw new OutOfMemoryError("mmap of " + lengthBytes + " bytes failed: " + Errno.describe((int) -address)
                    + "; free memory or configure fewer or smaller slots");
        }
        return address;
    }

    /** Returns the address of the first byte, a multiple of the page size. */
    public long address() {
        return address;
    }

    /** Returns the mapped length in bytes. */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** Returns a view of a part of this memory. Using the view after {@link #close()} crashes the process. */
    public ByteBuffer view(long offsetBytes, int viewLengthBytes) {
        if (offsetBytes < 0 || viewLengthBytes < 0 || offsetBytes + viewLengthBytes > lengthBytes) {
            throw new IndexOutOfBoundsException(offsetBytes + "+" + viewLengthBytes + " of " + lengthBytes);
        }
        return NativeMemory.segment(address + offsetBytes, viewLengthBytes).asByteBuffer().order(ByteOrder.BIG_ENDIAN);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            Libc.munmap(address, lengthBytes);
        }
    }

    private static long mapAnonymous(long lengthBytes, int flags) {
        return Libc.mmap(0, lengthBytes, Libc.PROT_READ | Libc.PROT_WRITE,
                Libc.MAP_PRIVATE | Libc.MAP_ANONYMOUS | flags, -1, 0);
    }

    private static long roundUp(long value, long unit) {
        return (value + unit - 1) / unit * unit;
    }
}
