package io.rdmaraw.microbench.tcp;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * A file of {@code /proc} that stays open. A server can therefore still read it when its peers have used up all file
 * descriptors.
 */
final class ProcFile {
    private static final int MAX_BYTES = 64 << 10;

    private final RandomAccessFile file;

    ProcFile(Path path) {
        try {
            file = new RandomAccessFile(path.toFile(), "r");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the current lines of the file. */
    List<String> lines() {
        byte[] content = new byte[MAX_BYTES];
        int length = 0;
        try {
            file.seek(0);
            for (int n = 0; n >= 0 && length < MAX_BYTES; n = file.read(content, length, MAX_BYTES - length)) {
                length += n;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new String(content, 0, length, StandardCharsets.US_ASCII).lines().toList();
    }
}
