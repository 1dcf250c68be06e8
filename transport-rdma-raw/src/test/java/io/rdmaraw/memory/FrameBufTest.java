package io.rdmaraw.memory;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.ffi.PageMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

class FrameBufTest {
    private static final int STRIDE_BYTES = 2048;
    private static final int SLOT_BYTES = SlotPool.capacityBytes(STRIDE_BYTES);

    private final PageMemory memory = PageMemory.map(4 * STRIDE_BYTES);
    private final SlotPool pool = new SlotPool(memory.address(), StrideLayout.NONE, 4, STRIDE_BYTES, 7, SlotPoison.OFF);
    private FrameBuf buf;

    @BeforeEach
    void take() {
        pool.setOwner(Thread.currentThread());
        buf = pool.acquire();
    }

    @AfterEach
    void unmap() {
        if (buf.refCnt() > 0) {
            buf.release();
        }
        assertEquals(4, pool.available(), "every slot must come back");
        memory.close();
    }

    @Test
    void slotIsReturnedIfAttachedBufferWasReleasedElsewhere() {
        for (ByteBuf payload : new ByteBuf[] {Unpooled.buffer(8), pool.acquire()}) {
            buf.attach(payload);
            payload.release();
            assertThrows(IllegalReferenceCountException.class, () -> buf.release());
            buf = pool.acquire();
        }
    }

    /** Compares every accessor with Netty's heap buffer: the same operations must write and read the same bytes. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void accessorsMatchNettysBuffers(long seed) throws IOException {
        Random random = new Random(seed);
        ByteBuf reference = Unpooled.buffer(SLOT_BYTES).setZero(0, SLOT_BYTES);
        buf.setZero(0, SLOT_BYTES);
        for (int step = 0; step < 2_000; step++) {
            int index = random.nextInt(SLOT_BYTES - 64);
            long value = random.nextLong();
            int operation = random.nextInt(22);
            assertEquals(apply(reference, operation, index, value), apply(buf, operation, index, value),
                    "operation " + operation + " at " + index);
        }
        for (int i = 0; i < SLOT_BYTES; i++) {
            assertEquals(reference.getByte(i), buf.getByte(i), "byte " + i);
        }
        reference.release();
    }

    private static long apply(ByteBuf target, int operation, int index, long value) throws IOException {
        byte[] bytes = new byte[(int) (value & 31) + 1];
        new Random(value).nextBytes(bytes);
        switch (operation) {
            case 0 -> target.setByte(index, (int) value);
            case 1 -> target.setShort(index, (int) value);
            case 2 -> target.setShortLE(index, (int) value);
            case 3 -> target.setMedium(index, (int) value);
            case 4 -> target.setMediumLE(index, (int) value);
            case 5 -> target.setInt(index, (int) value);
            case 6 -> target.setIntLE(index, (int) value);
            case 7 -> target.setLong(index, value);
            case 8 -> target.setLongLE(index, value);
            case 9 -> target.setBytes(index, bytes);
            case 10 -> target.setBytes(index, ByteBuffer.wrap(bytes));
            case 11 -> target.setBytes(index, Unpooled.wrappedBuffer(bytes));
            case 12 -> target.setBytes(index, Unpooled.directBuffer(bytes.length).writeBytes(bytes));
            case 13 -> target.setBytes(index, new ByteArrayInputStream(bytes), bytes.length + 5);
            case 14 -> {
                return target.getShort(index) ^ (long) target.getShortLE(index) << 16;
            }
            case 15 -> {
                return target.getMedium(index) ^ (long) target.getUnsignedMediumLE(index) << 24;
            }
            case 16 -> {
                return target.getInt(index) ^ (long) target.getIntLE(index) << 32;
            }
            case 17 -> {
                return target.getLong(index) * 31 + target.getLongLE(index);
            }
            case 18 -> {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                target.getBytes(index, out, bytes.length);
                return new String(out.toByteArray(), java.nio.charset.StandardCharsets.ISO_8859_1).hashCode();
            }
            case 19 -> {
                ByteBuffer into = ByteBuffer.allocateDirect(bytes.length);
                target.getBytes(index, into);
                return into.flip().hashCode();
            }
            case 20 -> {
                ByteBuf into = Unpooled.buffer(bytes.length);
                target.getBytes(index, into);
                return into.hashCode();
            }
            default -> {
                return target.slice(index, bytes.length).hashCode()
                        ^ target.nioBuffer(index, bytes.length).hashCode();
            }
        }
        return 0;
    }

    @Test
    void refusesAccessOutOfBoundsAndAfterRelease() {
        assertThrows(IndexOutOfBoundsException.class, () -> buf.getLong(SLOT_BYTES - 7));
        assertThrows(IndexOutOfBoundsException.class, () -> buf.setBytes(SLOT_BYTES - 3, new byte[4]));
        buf.release();
        assertThrows(IllegalReferenceCountException.class, () -> buf.getByte(0));
        assertThrows(IllegalReferenceCountException.class, () -> buf.memoryAddress());
        assertThrows(IllegalReferenceCountException.class, () -> buf.release());
    }

    /** A thread may create a view while another one reads through the internal view. */
    @Test
    void otherViewsDoNotChangeTheInternalView() {
        buf.writeZero(20);
        ByteBuffer internal = buf.internalNioBuffer(3, 4);
        ByteBuf other = buf.retainedDuplicate();
        assertEquals(20, other.nioBuffer(0, 20).remaining());
        other.getBytes(0, ByteBuffer.allocate(20));
        assertEquals(3, internal.position());
        assertEquals(7, internal.limit());
        other.release();
    }

    @Test
    void bufferGrowsBeyondItsSlotAndReturnsToIt() {
        byte[] content = new byte[SLOT_BYTES];
        new Random(1).nextBytes(content);
        buf.writeBytes(content);
        assertTrue(buf.isRegistered());
        buf.writeBytes(content);
        assertFalse(buf.isRegistered());
        byte[] read = new byte[SLOT_BYTES];
        buf.readBytes(read);
        assertArrayEquals(content, read);
        buf.readBytes(read);
        assertArrayEquals(content, read);
        FrameBuf same = buf;
        buf.release();
        buf = pool.acquire();
        assertEquals(same, buf);
        assertTrue(buf.isRegistered());
        assertEquals(buf.slotAddress(), buf.memoryAddress());
        assertEquals(SLOT_BYTES, buf.capacity());
    }

    @Test
    void indicesShrinkWithTheCapacity() {
        buf.writeZero(100).readerIndex(80);
        buf.capacity(50);
        assertEquals(50, buf.capacity());
        assertEquals(50, buf.writerIndex());
        assertEquals(50, buf.readerIndex());
        assertTrue(buf.isRegistered());
    }

    @Test
    void bufferWorksWithCumulatingDecoders() {
        assertTrue(buf.isDirect());
        assertTrue(buf.isContiguous());
        assertTrue(buf.hasMemoryAddress());
        assertFalse(buf.hasArray());
        assertEquals(1, buf.nioBufferCount());
        ByteBuf copy = buf.writeInt(7).copy();
        assertEquals(7, copy.readInt());
        copy.release();
    }

    @Test
    void windowShowsAPartUntilTheBufferIsReleased() {
        buf.writeBytes(new byte[] {0, 1, 2, 3, 4, 5, 6, 7});
        long slotAddress = buf.slotAddress();
        buf.restrictTo(3, 4);
        assertEquals(0x03040506, buf.getInt(0));
        assertEquals(4, buf.readableBytes());
        assertEquals(slotAddress + 3, buf.memoryAddress());
        byte[] bytes = new byte[4];
        buf.getBytes(0, bytes);
        assertArrayEquals(new byte[] {3, 4, 5, 6}, bytes);
        assertEquals(3, buf.nioBuffer().get(0));
        assertThrows(IndexOutOfBoundsException.class, () -> buf.getByte(4));
        buf.writeBytes(new byte[] {9, 9});
        assertTrue(buf.isRegistered(), "the slot has room behind the window");
        buf.writeZero(SLOT_BYTES);
        assertFalse(buf.isRegistered());
        assertEquals(0x0304050609090000L, buf.getLong(0));
        buf.release();
        buf = pool.acquire();
        assertEquals(slotAddress, buf.memoryAddress());
        assertEquals(SLOT_BYTES, buf.capacity());
    }

    @Test
    void windowRequiresContentAndTheOnlyReference() {
        buf.writeZero(10);
        assertThrows(IndexOutOfBoundsException.class, () -> buf.restrictTo(4, 7));
        assertThrows(IndexOutOfBoundsException.class, () -> buf.restrictTo(-1, 2));
        buf.retain();
        assertThrows(IndexOutOfBoundsException.class, () -> buf.restrictTo(0, 2));
        buf.release();
    }

    @Test
    void limitsOfAViewAreNotKept() {
        buf.internalNioBuffer(2, 4);
        buf.setBytes(100, new byte[] {1, 2, 3});
        assertEquals(0x010203, buf.getMedium(100));
    }

    @Test
    void prependRequiresRoomAndTheOnlyReference() {
        buf.writeLong(0x0102030405060708L);
        buf.restrictTo(3, 4);
        buf.skipBytes(1);
        assertFalse(buf.prepend(5), "the slot begins four bytes before");
        buf.retain();
        assertFalse(buf.prepend(4), "somebody else may read there");
        buf.release();
        assertTrue(buf.prepend(4));
        assertEquals(buf.slotAddress(), buf.memoryAddress());
        assertEquals(7, buf.readableBytes());
        assertEquals(0x050607, buf.getUnsignedMedium(4), "the content is where it was");
    }

    /** As after sending a frame from the slot: its limit must not truncate a window of the next frame. */
    @Test
    void limitsOfTheSlotViewDoNotTruncateAWindow() {
        buf.writeBytes(new byte[] {1, 2, 3, 4, 5, 6});
        buf.internalNioBuffer(0, 4);
        buf.restrictTo(2, 4);
        assertEquals(0x03040506, buf.nioBuffer(0, 4).getInt());
    }

    @Test
    void attachedBufferIsReleasedWithTheBuffer() {
        ByteBuf payload = Unpooled.buffer(4).writeInt(1);
        buf.attach(payload);
        assertEquals(4, buf.attachedBytes());
        buf.release();
        assertEquals(0, payload.refCnt());
        buf = pool.acquire();
        assertEquals(0, buf.attachedBytes());
    }
}
