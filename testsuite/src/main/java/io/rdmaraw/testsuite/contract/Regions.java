package io.rdmaraw.testsuite.contract;

import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.netty.util.AbstractReferenceCounted;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.util.List;
import java.util.function.BooleanSupplier;

/** The file regions of programs. */
final class Regions {
    /** The behaviour of a region. */
    enum Kind { FILE, FILE_OPENED, SHORT_FILE, EMPTY, OWN, PAUSES, FAILS }

    private Regions() {
    }

    /**
     * Creates a region.
     *
     * @param ready whether a region that pauses has more bytes
     * @param files receives the files to delete
     */
    static FileRegion create(Kind kind, int write, int length, BooleanSupplier ready, List<File> files)
            throws IOException {
        return switch (kind) {
            case FILE -> new DefaultFileRegion(file(write, length, files), 0, length);
            case FILE_OPENED -> {
                DefaultFileRegion region = new DefaultFileRegion(file(write, length, files), 0, length);
                region.open();
                yield region;
            }
            case SHORT_FILE -> new DefaultFileRegion(file(write, length / 2, files), 0, length);
            case EMPTY -> new DefaultFileRegion(file(write, 1, files), 0, 0);
            case OWN, PAUSES, FAILS -> new Own(kind, Content.of(write, length, false), ready);
        };
    }

    private static File file(int write, int length, List<File> files) throws IOException {
        File file = File.createTempFile("contract-", ".bytes");
        Files.write(file.toPath(), Content.of(write, length, false));
        files.add(file);
        return file;
    }

    /** A region that is not a DefaultFileRegion. */
    private static final class Own extends AbstractReferenceCounted implements FileRegion {
        private final Kind kind;
        private final byte[] content;
        private final BooleanSupplier ready;
        private long transferred;

        Own(Kind kind, byte[] content, BooleanSupplier ready) {
            this.kind = kind;
            this.content = content;
            this.ready = ready;
        }

        @Override
        public long position() {
            return 0;
        }

        @Override
        @Deprecated
        public long transfered() {
            return transferred;
        }

        @Override
        public long transferred() {
            return transferred;
        }

        @Override
        public long count() {
            return content.length;
        }

        @Override
        public long transferTo(WritableByteChannel target, long position) throws IOException {
            int half = content.length / 2;
            if (kind == Kind.FAILS && position >= half) {
                throw new IOException("the program's region");
            }
            if (kind == Kind.PAUSES && position >= half && !ready.getAsBoolean()) {
                return 0;
            }
            int end = kind == Kind.OWN || position >= half ? content.length : half;
            int written = target.write(ByteBuffer.wrap(content, (int) position, end - (int) position));
            transferred += Math.max(written, 0);
            return written;
        }

        @Override
        protected void deallocate() {
            // There is nothing to release.
        }

        @Override
        public FileRegion retain() {
            super.retain();
            return this;
        }

        @Override
        public FileRegion retain(int increment) {
            super.retain(increment);
            return this;
        }

        @Override
        public FileRegion touch() {
            return this;
        }

        @Override
        public FileRegion touch(Object hint) {
            return this;
        }
    }
}
