package io.rdmaraw.tcp.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.IllegalReferenceCountException;
import org.junit.jupiter.api.Test;

/** Ownership of the payload references of a segment. */
class SegmentPayloadTest {
    private static final int PIECE_BYTES = 10;

    private final ByteBuf first = Unpooled.buffer(PIECE_BYTES);
    private final ByteBuf second = Unpooled.buffer(PIECE_BYTES);
    private final Segment segment = new Segment();

    private void borrowBoth() {
        segment.borrowSlice(first, 0, PIECE_BYTES);
        segment.borrowSlice(second, 0, PIECE_BYTES);
    }

    private void assertReferences(int ofFirst, int ofSecond) {
        assertEquals(ofFirst, first.refCnt(), "first");
        assertEquals(ofSecond, second.refCnt(), "second");
    }

    @Test
    void borrowedSlicesHaveNoReference() {
        borrowBoth();
        assertReferences(1, 1);
        segment.releasePayload();
        assertReferences(1, 1);
        assertEquals(0, segment.payloadLength());
    }

    @Test
    void retainedSlicesAreReleasedOnce() {
        borrowBoth();
        segment.retainPayload();
        segment.retainPayload();
        assertReferences(2, 2);
        segment.releasePayload();
        assertReferences(1, 1);
    }

    @Test
    void retainedSlicesAreDetachedWithReferences() {
        borrowBoth();
        assertThrows(IllegalStateException.class, segment::detachPayload);
        segment.retainPayload();
        segment.detachPayload();
        assertReferences(2, 2);
    }

    @Test
    void releasedBufferIsRejectedWithoutRetainingOthers() {
        borrowBoth();
        second.release();
        assertThrows(IllegalReferenceCountException.class, segment::retainPayload);
        assertReferences(1, 0);
        segment.releasePayload();
        assertReferences(1, 0);
        assertThrows(IllegalReferenceCountException.class, () -> segment.borrowSlice(second, 0, 1));
        assertEquals(0, segment.sliceCount());
    }

    @Test
    void truncatedSlicesAreReleasedIfOwned() {
        borrowBoth();
        segment.truncate(PIECE_BYTES);
        assertReferences(1, 1);
        segment.retainPayload();
        assertReferences(2, 1);
        segment.releasePayload();
        borrowBoth();
        segment.retainPayload();
        segment.segmentSizeBytes = PIECE_BYTES / 2;
        segment.truncateToFirstSegment();
        assertEquals(PIECE_BYTES / 2, segment.payloadLength());
        assertReferences(2, 1);
    }

    /** A polled segment that is cleared and reused with other slices. */
    @Test
    void clearedSegmentReleasesNothing() {
        borrowBoth();
        segment.clear();
        segment.addSlice(first.retain(), 0, PIECE_BYTES);
        segment.releasePayload();
        assertReferences(1, 1);
    }

    @Test
    void borrowedAndOwnedSlicesCannotBeMixed() {
        segment.borrowSlice(first, 0, PIECE_BYTES);
        assertThrows(IllegalStateException.class, () -> segment.addSlice(second, 0, PIECE_BYTES));
        segment.clear();
        segment.addSlice(second, 0, PIECE_BYTES);
        assertThrows(IllegalStateException.class, () -> segment.borrowSlice(first, 0, PIECE_BYTES));
    }
}
