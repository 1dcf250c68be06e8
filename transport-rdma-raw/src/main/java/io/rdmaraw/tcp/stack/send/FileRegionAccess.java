package io.rdmaraw.tcp.stack.send;

import io.netty.buffer.ByteBuf;
import io.netty.channel.DefaultFileRegion;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;

/**
 * Reads the file of a {@link DefaultFileRegion} directly into a buffer. {@link DefaultFileRegion#transferTo} reads into
 * an intermediate buffer of the JDK, 8 KiB at a time, from which each part is copied. Netty's epoll transport accesses
 * the same fields with JNI.
 */
public final class FileRegionAccess {
    /** Null if the fields are not accessible, for example because Netty is a named module. */
    private static final VarHandle FILE;
    private static final VarHandle TRANSFERRED;

    static {
        VarHandle file = null;
        VarHandle transferred = null;
        try {
            MethodHandles.Lookup lookup =
                    MethodHandles.privateLookupIn(DefaultFileRegion.class, MethodHandles.lookup());
            file = lookup.findVarHandle(DefaultFileRegion.class, "file", FileChannel.class);
            transferred = lookup.findVarHandle(DefaultFileRegion.class, "transferred", long.class);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            // transferTo() does the same with more copies.
            file = null;
        }
        FILE = file;
        TRANSFERRED = transferred;
    }

    private FileRegionAccess() {
    }

    /** Returns whether {@link #read} supports a region. A subclass may override {@code transferTo}. */
    public static boolean supports(Object region) {
        return FILE != null && region.getClass() == DefaultFileRegion.class;
    }

    /**
     * Reads the next bytes of a region and advances it.
     *
     * @param maxBytes maximum number of bytes; the region must have as many left
     * @return the number of bytes; 0 or negative if the file ends before the region
     */
    public static int read(DefaultFileRegion region, ByteBuf into, int maxBytes) throws IOException {
        region.open();
        long transferred = region.transferred();
        int bytes = into.writeBytes((FileChannel) FILE.get(region), region.position() + transferred, maxBytes);
        if (bytes > 0) {
            TRANSFERRED.set(region, transferred + bytes);
        }
        return bytes;
    }
}
