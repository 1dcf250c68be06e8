package io.rdmaraw.ffi;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** Loads shared libraries, either from the system or from a jar. */
public final class NativeLibrary {
    /** Processor names as used by Netty, of which there is an artifact. */
    private static final List<String> ARCHITECTURES = List.of("x86_64", "aarch_64");

    private NativeLibrary() {
    }

    /**
     * Loads a library by soname or path. It is never unloaded.
     *
     * @throws UnsatisfiedLinkError if the dynamic linker cannot load it
     */
    @SuppressWarnings("restricted")
    public static SymbolLookup load(String sonameOrPath) {
        try {
            return SymbolLookup.libraryLookup(sonameOrPath, Arena.global());
        } catch (IllegalArgumentException e) {
            throw linkError("cannot load " + sonameOrPath + ": " + LibraryFailure.dlopenError(sonameOrPath), e);
        }
    }

    /**
     * Loads {@code META-INF/native/lib<name>_linux_<arch>.so} from the class path, or the file in the system
     * property {@code io.rdmaraw.<name>.path}.
     *
     * @throws UnsatisfiedLinkError if the library is missing or cannot be loaded; the message contains the
     *         locations
     */
    public static SymbolLookup loadBundled(String name) {
        String path = System.getProperty(property(name));
        try {
            if (path != null) {
                return loadNamed(name, Path.of(path).toAbsolutePath());
            }
            List<URL> locations = locations(name, architecture());
            if (locations.isEmpty()) {
                throw new UnsatisfiedLinkError(missing(name));
            }
            try (var in = locations.getFirst().openStream()) {
                return loadCopy(name, locations.getFirst().toString(), in.readAllBytes());
            }
        } catch (IOException e) {
            throw linkError("cannot read the library " + name + ": " + e.getMessage(), e);
        }
    }

    /**
     * Returns the location from which {@link #loadBundled} loads a library, and other locations that contain
     * it, for messages.
     */
    public static String candidatesOf(String name) {
        String path = System.getProperty(property(name));
        try {
            return path != null ? path : String.join(", ", locations(name, architecture()).stream()
                    .map(URL::toString).toList());
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static String property(String name) {
        return "io.rdmaraw." + name + ".path";
    }

    private static List<URL> locations(String name, String architecture) throws IOException {
        return TransportVersion.locations(NativeLibrary.class.getClassLoader(), resource(name, architecture));
    }

    static String resource(String name, String architecture) {
        return "META-INF/native/lib" + name + "_linux_" + architecture + ".so";
    }

    private static String missing(String name) throws IOException {
        String architecture = architecture();
        String nothing = resource(name, architecture) + " is not on the class path";
        String orFile = ", or name the library's file in the system property " + property(name);
        if (!ARCHITECTURES.contains(architecture)) {
            return nothing + ", and there is no artifact for this processor: build the library on it" + orFile;
        }
        for (String other : ARCHITECTURES) {
            if (!other.equals(architecture) && !locations(name, other).isEmpty()) {
                nothing += ", which has that for linux-" + other + " alone";
            }
        }
        return nothing + ": add the artifact io.rdmaraw:netty-transport-rdma-raw-native with classifier linux-"
                + architecture + orFile;
    }

    private static SymbolLookup loadNamed(String name, Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw new UnsatisfiedLinkError("the system property " + property(name) + " names " + file
                    + ", which is not a file");
        }
        requireCompatible(name, file.toString(), Files.readAllBytes(file));
        try {
            return load(file.toString());
        } catch (UnsatisfiedLinkError e) {
            throw withRemedy(name, file.toString(), e);
        }
    }

    /**
     * Loads a library from a temporary file, so that profilers and core dumps show the file name. If that is not
     * possible, for example in a container with a read-only or noexec file system, loads it from memory.
     */
    private static SymbolLookup loadCopy(String name, String origin, byte[] library) {
        requireCompatible(name, origin, library);
        String fileFailure;
        try {
            return loadFromDirectory(name, library);
        } catch (IOException | UnsatisfiedLinkError e) {
            fileFailure = e instanceof IOException ? e.toString() : e.getMessage();
        }
        try {
            return load(MemoryFile.create("lib" + name, library).toString());
        } catch (IOException e) {
            throw notLoadable(name, fileFailure, e);
        } catch (UnsatisfiedLinkError e) {
            UnsatisfiedLinkError known = withRemedy(name, origin, e);
            throw known == e ? notLoadable(name, fileFailure, e) : known;
        }
    }

    private static UnsatisfiedLinkError notLoadable(String name, String fileFailure, Throwable memoryFailure) {
        return linkError("the library can be run neither from " + System.getProperty("java.io.tmpdir") + " ("
                + fileFailure + ") nor from memory (" + memoryFailure.getMessage() + "): name another directory by"
                + " -Djava.io.tmpdir, or a file with the library by -D" + property(name), memoryFailure);
    }

    private static void requireCompatible(String name, String origin, byte[] library) {
        String incompatibility = LibraryFailure.incompatibility(property(name), library);
        if (incompatibility != null) {
            throw new UnsatisfiedLinkError("cannot load " + origin + ": " + incompatibility);
        }
    }

    /** Returns an error with a remedy, or the same error if no remedy is known. */
    private static UnsatisfiedLinkError withRemedy(String name, String origin, UnsatisfiedLinkError error) {
        String remedy = LibraryFailure.remedy(property(name), error.getMessage());
        return remedy == null ? error : linkError("cannot load " + origin + ": " + remedy, error);
    }

    private static SymbolLookup loadFromDirectory(String name, byte[] library) throws IOException {
        Path copy = Files.createTempFile("lib" + name, ".so");
        try {
            Files.write(copy, library);
            return load(copy.toString());
        } finally {
            // The mapping remains valid without the name. Deleting it now leaves no file behind if the process is
            // aborted.
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
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(message);
        error.initCause(cause);
        return error;
    }
}
