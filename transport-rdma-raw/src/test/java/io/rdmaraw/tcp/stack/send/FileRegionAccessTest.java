package io.rdmaraw.tcp.stack.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.DefaultFileRegion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The bytes of a file are read into the send buffer with one system call and one copy. */
class FileRegionAccessTest {
    private static final int BYTES = 200_000;
    private static final int CHUNK_BYTES = 1 << 16;

    @TempDir
    private Path folder;

    private Path file() throws IOException {
        byte[] content = new byte[BYTES];
        for (int i = 0; i < BYTES; i++) {
            content[i] = (byte) (i * 31 + (i >> 8));
        }
        return Files.write(folder.resolve("content"), content);
    }

    @Test
    void readsWholeChunksAndAdvancesRegion() throws Exception {
        Path file = file();
        int start = 1000;
        DefaultFileRegion region = new DefaultFileRegion(file.toFile(), start, BYTES - start);
        assertTrue(FileRegionAccess.supports(region), "the fields of Netty's class are accessible on the class path");
        ByteBuf read = Unpooled.directBuffer(BYTES);
        try {
            assertEquals(CHUNK_BYTES, FileRegionAccess.read(region, read, CHUNK_BYTES));
            assertEquals(CHUNK_BYTES, region.transferred());
            while (region.transferred() < region.count()) {
                FileRegionAccess.read(region, read, (int) Math.min(CHUNK_BYTES, region.count() - region.transferred()));
            }
            byte[] expected = Files.readAllBytes(file);
            assertEquals(Unpooled.wrappedBuffer(expected, start, BYTES - start), read);
        } finally {
            read.release();
            region.release();
        }
    }

    @Test
    void endOfShortFileIsReported() throws Exception {
        DefaultFileRegion region = new DefaultFileRegion(file().toFile(), BYTES, 10);
        ByteBuf read = Unpooled.directBuffer(10);
        try {
            assertTrue(FileRegionAccess.read(region, read, 10) <= 0);
            assertEquals(0, region.transferred());
            assertEquals(0, read.readableBytes());
        } finally {
            read.release();
            region.release();
        }
    }

    /** A subclass may override {@code transferTo}. */
    @Test
    void subclassesAreNotSupported() throws Exception {
        DefaultFileRegion region = new DefaultFileRegion(file().toFile(), 0, BYTES) { };
        assertFalse(FileRegionAccess.supports(region));
        region.release();
    }
}
