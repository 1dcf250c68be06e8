package io.rdmaraw.memory;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.NativeMemory;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.ScatteringByteChannel;

/**
 * Access to the content of a buffer in native memory, by absolute address and without Unsafe. The subclass owns
 * the memory.
 */
abstract class NativeByteBuf extends CountedByteBuf {
    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    /**
     * Size of the pieces in which streams are copied, since the JDK has no bulk copy between streams and native
     * memory.
     */
    private static final int STREAM_PIECE_BYTES = 8192;

    /** Address of index 0. */
    long address;
    /** Current capacity in bytes, counted from {@link #address}. */
    int capacityBytes;
    /** The view that {@link #internalNioBuffer} limits, and the shared view from which it was created. */
    private ByteBuffer internalView;
    private ByteBuffer internalViewOf;

    /**
     * Returns an NIO buffer that starts at {@link #address}. Threads share it, so its position and limit must not
     * be changed.
     */
    abstract ByteBuffer nioView();

    /** Drops the view of memory that the buffer no longer has. */
    final void dropInternalView() {
        internalView = null;
        internalViewOf = null;
    }

    @Override
    public final int capacity() {
        return capacityBytes;
    }

    @Override
    @SuppressWarnings("deprecation")
    public final ByteOrder order() {
        return ByteOrder.BIG_ENDIAN;
    }

    @Override
    public final ByteBuf unwrap() {
        return null;
    }

    @Override
    public final boolean isDirect() {
        return true;
    }

    @Override
    public final boolean isContiguous() {
        return true;
    }

    @Override
    public final boolean hasArray() {
        return false;
    }

    @Override
    public final byte[] array() {
        throw new UnsupportedOperationException("direct buffer");
    }

    @Override
    public final int arrayOffset() {
        throw new UnsupportedOperationException("direct buffer");
    }

    @Override
    public final boolean hasMemoryAddress() {
        return true;
    }

    @Override
    public final long memoryAddress() {
        ensureAccessible();
        return address;
    }

    @Override
    protected final byte _getByte(int index) {
        return NativeMemory.getByte(address + index);
    }

    @Override
    protected final short _getShort(int index) {
        short raw = NativeMemory.getShort(address + index);
        return SWAP ? Short.reverseBytes(raw) : raw;
    }

    @Override
    protected final short _getShortLE(int index) {
        short raw = NativeMemory.getShort(address + index);
        return SWAP ? raw : Short.reverseBytes(raw);
    }

    @Override
    protected final int _getUnsignedMedium(int index) {
        return (_getByte(index) & 0xff) << 16 | _getShort(index + 1) & 0xffff;
    }

    @Override
    protected final int _getUnsignedMediumLE(int index) {
        return _getByte(index) & 0xff | (_getShortLE(index + 1) & 0xffff) << 8;
    }

    @Override
    protected final int _getInt(int index) {
        int raw = NativeMemory.getInt(address + index);
        return SWAP ? Integer.reverseBytes(raw) : raw;
    }

    @Override
    protected final int _getIntLE(int index) {
        int raw = NativeMemory.getInt(address + index);
        return SWAP ? raw : Integer.reverseBytes(raw);
    }

    @Override
    protected final long _getLong(int index) {
        long raw = NativeMemory.getLong(address + index);
        return SWAP ? Long.reverseBytes(raw) : raw;
    }

    @Override
    protected final long _getLongLE(int index) {
        long raw = NativeMemory.getLong(address + index);
        return SWAP ? raw : Long.reverseBytes(raw);
    }

    @Override
    protected final void _setByte(int index, int value) {
        NativeMemory.putByte(address + index, (byte) value);
    }

    @Override
    protected final void _setShort(int index, int value) {
        NativeMemory.putShort(address + index, SWAP ? Short.reverseBytes((short) value) : (short) value);
    }

    @Override
    protected final void _setShortLE(int index, int value) {
        NativeMemory.putShort(address + index, SWAP ? (short) value : Short.reverseBytes((short) value));
    }

    @Override
    protected final void _setMedium(int index, int value) {
        _setByte(index, value >>> 16);
        _setShort(index + 1, value);
    }

    @Override
    protected final void _setMediumLE(int index, int value) {
        _setByte(index, value);
        _setShortLE(index + 1, value >>> 8);
    }

    @Override
    protected final void _setInt(int index, int value) {
        NativeMemory.putInt(address + index, SWAP ? Integer.reverseBytes(value) : value);
    }

    @Override
    protected final void _setIntLE(int index, int value) {
        NativeMemory.putInt(address + index, SWAP ? value : Integer.reverseBytes(value));
    }

    @Override
    protected final void _setLong(int index, long value) {
        NativeMemory.putLong(address + index, SWAP ? Long.reverseBytes(value) : value);
    }

    @Override
    protected final void _setLongLE(int index, long value) {
        NativeMemory.putLong(address + index, SWAP ? value : Long.reverseBytes(value));
    }

    @Override
    public final ByteBuf getBytes(int index, ByteBuf dst, int dstIndex, int length) {
        checkDstIndex(index, length, dstIndex, dst.capacity());
        if (dst.hasMemoryAddress()) {
            NativeMemory.copy(address + index, dst.memoryAddress() + dstIndex, length);
        } else if (dst.hasArray()) {
            getBytes(index, dst.array(), dst.arrayOffset() + dstIndex, length);
        } else {
            dst.setBytes(dstIndex, this, index, length);
        }
        return this;
    }

    @Override
    public final ByteBuf getBytes(int index, byte[] dst, int dstIndex, int length) {
        checkDstIndex(index, length, dstIndex, dst.length);
        NativeMemory.getBytes(address + index, dst, dstIndex, length);
        return this;
    }

    @Override
    public final ByteBuf getBytes(int index, ByteBuffer dst) {
        int length = dst.remaining();
        checkIndex(index, length);
        dst.put(dst.position(), nioView(), index, length).position(dst.position() + length);
        return this;
    }

    @Override
    public final ByteBuf getBytes(int index, OutputStream out, int length) throws IOException {
        checkIndex(index, length);
        byte[] piece = new byte[Math.min(length, STREAM_PIECE_BYTES)];
        for (int done = 0; done < length;) {
            int n = Math.min(length - done, piece.length);
            getBytes(index + done, piece, 0, n);
            out.write(piece, 0, n);
            done += n;
        }
        return this;
    }

    @Override
    public final int getBytes(int index, GatheringByteChannel out, int length) throws IOException {
        return length == 0 ? 0 : out.write(nioBuffer(index, length));
    }

    @Override
    public final int getBytes(int index, FileChannel out, long position, int length) throws IOException {
        return length == 0 ? 0 : out.write(nioBuffer(index, length), position);
    }

    @Override
    public final ByteBuf setBytes(int index, ByteBuf src, int srcIndex, int length) {
        checkSrcIndex(index, length, srcIndex, src.capacity());
        if (src.hasMemoryAddress()) {
            NativeMemory.copy(src.memoryAddress() + srcIndex, address + index, length);
        } else if (src.hasArray()) {
            setBytes(index, src.array(), src.arrayOffset() + srcIndex, length);
        } else {
            src.getBytes(srcIndex, this, index, length);
        }
        return this;
    }

    @Override
    public final ByteBuf setBytes(int index, byte[] src, int srcIndex, int length) {
        checkSrcIndex(index, length, srcIndex, src.length);
        NativeMemory.putBytes(address + index, src, srcIndex, length);
        return this;
    }

    @Override
    public final ByteBuf setBytes(int index, ByteBuffer src) {
        int length = src.remaining();
        checkIndex(index, length);
        nioView().put(index, src, src.position(), length);
        src.position(src.position() + length);
        return this;
    }

    @Override
    public final int setBytes(int index, InputStream in, int length) throws IOException {
        checkIndex(index, length);
        byte[] piece = new byte[Math.min(length, STREAM_PIECE_BYTES)];
        int done = 0;
        while (done < length) {
            int n = in.read(piece, 0, Math.min(length - done, piece.length));
            if (n < 0) {
                return done == 0 ? -1 : done;
            }
            setBytes(index + done, piece, 0, n);
            done += n;
        }
        return done;
    }

    @Override
    public final int setBytes(int index, ScatteringByteChannel in, int length) throws IOException {
        checkIndex(index, length);
        try {
            return in.read(nioBuffer(index, length));
        } catch (ClosedChannelException e) {
            return -1;
        }
    }

    @Override
    public final int setBytes(int index, FileChannel in, long position, int length) throws IOException {
        checkIndex(index, length);
        try {
            return in.read(nioBuffer(index, length), position);
        } catch (ClosedChannelException e) {
            return -1;
        }
    }

    @Override
    public final ByteBuf copy(int index, int length) {
        checkIndex(index, length);
        return alloc().directBuffer(length, maxCapacity()).writeBytes(this, index, length);
    }

    @Override
    public final int nioBufferCount() {
        return 1;
    }

    @Override
    public final ByteBuffer nioBuffer(int index, int length) {
        checkIndex(index, length);
        return nioView().slice(index, length);
    }

    @Override
    public final ByteBuffer internalNioBuffer(int index, int length) {
        checkIndex(index, length);
        ByteBuffer shared = nioView();
        if (internalViewOf != shared) {
            internalViewOf = shared;
            internalView = shared.duplicate();
        }
        return internalView.clear().limit(index + length).position(index);
    }

    @Override
    public final ByteBuffer[] nioBuffers(int index, int length) {
        return new ByteBuffer[] {nioBuffer(index, length)};
    }
}
