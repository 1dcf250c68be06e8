package io.rdmaraw.ffi;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Finds and loads shared libraries: one of the system by its soname, or one that travels in a jar. */
public final class NativeLibrary {
    private NativeLibrary() {
    }

    /**
     * Loads a library by soname or path. It is never unloaded.
     *
     * @throws UnsatisfiedLinkError when the dynamic linker does not find it
     */
    @SuppressWarnings("restricted")
    public static SymbolLookup load(String sonameOrPath) {
        try {
            return SymbolLookup.libraryLookup(sonameOrPath, Arena.global());
        } catch (IllegalArgumentException e) {
            throw linkError("cannot load " + sonameOrPath, e);
        }
    }

    /**
     * Loads {@code META-INF/native/lib<name>_linux_<arch>.so} from the class path, or the file that the system property
     * {@code io.rdmaraw.<name>.path} names.
     *
     * @throws UnsatisfiedLinkError when there is none or it does not load; the message says what was looked for
     */
    public static SymbolLookup loadBundled(String name) {
        String property = "io.rdmaraw." + name + ".path";
        String path = System.getProperty(property);
        if (path != null) {
            if (!Files.isRegularFile(Path.of(path))) {
                throw new UnsatisfiedLinkError("the system property " + property + " names " + path
                        + ", which is not a file");
            }
            return load(Path.of(path).toAbsolutePath().toString());
        }
        String resource = "META-INF/native/lib" + name + "_linux_" + architecture() + ".so";
        try (InputStream in = NativeLibrary.class.getClassLoader().getResourceAsStream(resource)) {
            if (in == null) {
                throw new UnsatisfiedLinkError(resource + " is not on the class path: add the artifact "
                        + "io.rdmaraw:netty-transport-rdma-raw-native with classifier linux-" + architecture()
                        + ", or name the library's file in the system property " + property);
            }
            return loadCopy(name, in.readAllBytes());
        } catch (IOException e) {
            throw linkError("cannot read " + resource, e);
        }
    }

    /**
     * A file has a name that profilers and core dumps show. Where there is no directory for one, as in a container
     * whose root file system is read-only, or where files cannot be run, the library is loaded from memory.
     */
    private static SymbolLookup loadCopy(String name, byte[] library) {
        String whyNoFile;
        try {
            return loadFromDirectory(name, library);
        } catch (IOException | UnsatisfiedLinkError e) {
            whyNoFile = e.toString();
        }
        try {
            return load(MemoryFile.create("lib" + name, library).toString());
        } catch (IOException | UnsatisfiedLinkError e) {
            throw linkError("the library can be run neither from " + System.getProperty("java.io.tmpdir") + " ("
                    + whyNoFile + ") nor from memory: name another directory by -Djava.io.tmpdir, or a file with the"
                    + " library by -Dio.rdmaraw." + name + ".path", e);
        }
    }

    private static SymbolLookup loadFromDirectory(String name, byte[] library) throws IOException {
        Path copy = Files.createTempFile("lib" + name, ".so");
        try {
            Files.write(copy, library);
            return load(copy.toString());
        } finally {
            // The mapping stays; the name is not needed any more, and an aborted process leaves no file behind.
            Files.deleteIfExists(copy);
        }
    }

    private static String architecture() {
        String arch = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return switch (arch) {
            case "amd64", "x86_64" -> "x86_64";
            case "aarch64", "arm64" -> "aarch_64";
            default -> arch;
        };
    }

    private static UnsatisfiedLinkError linkError(String message, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(message + ": " + cause.getMessage());
        error.initCause(cause);
        return error;
    }
}
