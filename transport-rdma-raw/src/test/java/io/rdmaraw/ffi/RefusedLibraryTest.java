package io.rdmaraw.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.channel.RdmaRaw;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests the messages for systems on which softverbs cannot be loaded, in separate JVMs. */
@Timeout(240)
class RefusedLibraryTest {
    private static final String JAVA = ProcessHandle.current().info().command().orElseThrow();
    private static final String LIBRARY = "META-INF/native/libsoftverbs_linux_x86_64.so";
    private static final String CLASS_PATH = System.getProperty("java.class.path");

    @TempDir
    private Path directory;

    private static final String ANSWER = "answer: ";

    /** Prints "available", or the reason why the transport is not available. */
    static final class Asker {
        public static void main(String[] args) {
            if (args.length > 0) {
                // The JDK's linker has read the property by then and does not change any more.
                Libc.effectiveUid();
                System.setProperty("os.arch", args[0]);
            }
            System.out.println(ANSWER + (RdmaRaw.isAvailable() ? "available " + RdmaRaw.deviceNames()
                    : RdmaRaw.unavailabilityCause().getMessage()));
        }
    }

    /** Queries the transport through two class loaders that share none of our classes. */
    static final class TwoLoaders {
        public static void main(String[] args) throws Exception {
            List<URL> urls = new ArrayList<>();
            for (String entry : System.getProperty("java.class.path").split(":")) {
                urls.add(Path.of(entry).toUri().toURL());
            }
            for (int i = 0; i < 2; i++) {
                ClassLoader loader = new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
                Class<?> asker = Class.forName(Asker.class.getName(), true, loader);
                var main = asker.getDeclaredMethod("main", String[].class);
                main.setAccessible(true);
                main.invoke(null, (Object) new String[0]);
            }
        }
    }

    private static String run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), output);
        return output;
    }

    private static List<String> java(String classPath, Class<?> main, String... options) {
        List<String> command = new ArrayList<>(List.of(JAVA, "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", classPath, main.getName()));
        return command;
    }

    private static List<String> answers(List<String> command) throws IOException, InterruptedException {
        String output = run(command);
        assertFalse(output.contains("VM warning"), output);
        return output.lines().filter(line -> line.startsWith(ANSWER)).toList();
    }

    private static String answer(List<String> command) throws IOException, InterruptedException {
        return answers(command).getFirst();
    }

    private static String ask(String classPath, String... options) throws IOException, InterruptedException {
        return answer(java(classPath, Asker.class, options));
    }

    private static void assertSays(String said, String... parts) {
        for (String part : parts) {
            assertTrue(said.contains(part), said);
        }
    }

    private static String withoutNatives() {
        return Stream.of(CLASS_PATH.split(":")).filter(entry -> !holdsLibrary(Path.of(entry)))
                .collect(Collectors.joining(":"));
    }

    private static boolean holdsLibrary(Path entry) {
        return Files.isDirectory(entry) ? Files.exists(entry.resolve(LIBRARY)) : entry.toString().contains("-native");
    }

    /** Returns a class path with the given library. */
    private String withLibrary(String resource, byte[] content) throws IOException {
        Path file = directory.resolve("other").resolve(resource);
        Files.createDirectories(file.getParent());
        Files.write(file, content);
        return directory.resolve("other") + ":" + withoutNatives();
    }

    private static byte[] softverbs() throws IOException {
        try (var in = RefusedLibraryTest.class.getClassLoader().getResourceAsStream(LIBRARY)) {
            assumeTrue(in != null, "built for another processor");
            return in.readAllBytes();
        }
    }

    /** Compiles a C library; skips the test without the compiler. */
    private Path compile(String compiler, String name, String source, String... options) throws Exception {
        assumeTrue(Stream.of(System.getenv("PATH").split(":")).anyMatch(p -> Files.isExecutable(Path.of(p, compiler))),
                "there is no " + compiler);
        Path file = Files.writeString(directory.resolve(name + ".c"), source);
        Path output = directory.resolve(name);
        List<String> command = new ArrayList<>(List.of(compiler, "-o", output.toString(), file.toString()));
        command.addAll(List.of(options));
        run(command);
        return output;
    }

    @Test
    void missingArtifactIsReported() throws Exception {
        assertSays(ask(withoutNatives()), LIBRARY + " is not on the class path: add the artifact"
                + " io.rdmaraw:netty-transport-rdma-raw-native with classifier linux-x86_64");
    }

    @Test
    void artifactForAnotherCpuIsReported() throws Exception {
        assertSays(ask(withLibrary("META-INF/native/libsoftverbs_linux_aarch_64.so", new byte[1])),
                "which has that for linux-aarch_64 alone: add the artifact", "classifier linux-x86_64");
    }

    @Test
    void unsupportedCpuIsNotReferredToAnArtifact() throws Exception {
        List<String> command = java(CLASS_PATH, Asker.class);
        command.add("riscv64");
        assertSays(answer(command), "no artifact for this processor: build the library on it",
                "io.rdmaraw.softverbs.path");
    }

    /** Uses softverbs with the ELF header of 64-bit Arm and, if there is a cross compiler, a real library. */
    @Test
    void libraryForAnotherMachineIsReported() throws Exception {
        byte[] other = softverbs();
        other[18] = (byte) 183;
        String remedy = "it is for 64-bit Arm (linux-aarch_64), and this JVM is for x86-64 (linux-x86_64): take the"
                + " artifact whose classifier names that";
        assertSays(ask(withLibrary(LIBRARY, other)), remedy);
        Path arm = compile("aarch64-linux-gnu-gcc", "arm.so", "int x;", "-shared", "-nostdlib");
        assertSays(ask(CLASS_PATH, "-Dio.rdmaraw.softverbs.path=" + arm), arm.toString(), remedy);
    }

    @Test
    void damagedLibraryIsRejected() throws Exception {
        assertSays(ask(withLibrary(LIBRARY, new byte[100])), "it is no shared library of Linux: take the jar");
    }

    /** A library linked against a newer C library than any existing one. */
    @Test
    void oldCLibraryIsReported() throws Exception {
        Path versions = Files.writeString(directory.resolve("versions"), "GLIBC_9.87 { global: *; };");
        Path libc = compile("cc", "libc.so", "int of_the_future(void) { return 1; }", "-shared", "-nostdlib",
                "-Wl,-soname,libc.so.6", "-Wl,--version-script=" + versions);
        Path library = compile("cc", "new.so", "int of_the_future(void); int ibv(void) { return of_the_future(); }",
                "-shared", "-fPIC", "-nostdlib", libc.toString());
        assertSays(ask(withLibrary(LIBRARY, Files.readAllBytes(library))),
                "C library is too old (GLIBC_9.87 is wanted): use a system with glibc 2.28 or newer");
    }

    /** No JVM on musl is available. A C program on musl provides the mappings and messages of such a process. */
    @Test
    void muslIsReported() throws Exception {
        Path program = compile("musl-gcc", "musl", """
                #include <dlfcn.h>
                #include <stdio.h>
                int main(int argc, char **argv)
                {
                    char line[4096];
                    FILE *maps = fopen("/proc/self/maps", "r");
                    if (!dlopen(argv[argc - 1], RTLD_LAZY))
                        printf("%s\\n", dlerror());
                    while (fgets(line, sizeof line, maps))
                        fputs(line, stdout);
                    return 0;
                }
                """);
        Path file = Files.write(directory.resolve("libsoftverbs.so"), softverbs());
        String output = run(List.of(program.toString(), file.toString()));
        String reason = output.lines().findFirst().orElseThrow();
        assertTrue(LibraryFailure.isMusl(output.substring(reason.length())), output);
        assertFalse(LibraryFailure.isMusl(Files.readString(Path.of("/proc/self/maps"))));
        String remedy = LibraryFailure.remedy("io.rdmaraw.softverbs.path", reason, true);
        assertSays(remedy, "this JVM runs on musl", reason, "use an image with glibc", "io.rdmaraw.softverbs.path");
    }

    @Test
    void libraryOfAnotherVersionIsReported() throws Exception {
        String ours = TransportVersion.get();
        byte[] content = softverbs();
        String text = new String(content, StandardCharsets.ISO_8859_1);
        int at = text.indexOf("\0" + ours + "\0") + 1;
        assertTrue(at > 0, "the library has no version " + ours);
        content[at] = '7';
        assertSays(ask(withLibrary(LIBRARY, content)), "the library is of version 7" + ours.substring(1)
                + ", and the transport's classes are of " + ours, "netty-transport-rdma-raw-bom",
                directory.toString());
    }

    @Test
    void twoVersionsOfTheClassesAreReported() throws Exception {
        Path resource = directory.resolve("old/io/rdmaraw/ffi/version.properties");
        Files.createDirectories(resource.getParent());
        Files.writeString(resource, "version=0.0.9\n");
        assertSays(ask(CLASS_PATH + ":" + directory.resolve("old")), "in several versions", TransportVersion.get(),
                directory.resolve("old") + "/=0.0.9");
        Files.writeString(resource, "version=" + TransportVersion.get() + "\n");
        assertSays(ask(CLASS_PATH + ":" + directory.resolve("old")), "available");
    }

    /**
     * When the second class loader looks for rdma-core, the dynamic linker returns the softverbs of the first
     * one.
     */
    @Test
    void twoClassLoadersHaveALibraryEach() throws Exception {
        // An invalid library hides an installed rdma-core.
        Files.writeString(directory.resolve("libibverbs.so.1"), "none");
        List<String> command = new ArrayList<>(List.of("env", "LD_LIBRARY_PATH=" + directory));
        command.addAll(java(CLASS_PATH, TwoLoaders.class));
        assertEquals(List.of(ANSWER + "available [soft:loop]", ANSWER + "available [soft:loop]"), answers(command));
    }

    @Test
    void deniedNativeAccessIsReported() throws Exception {
        assertSays(answer(List.of(JAVA, "--illegal-native-access=deny", "-cp", CLASS_PATH, Asker.class.getName())),
                "the JVM denies native access: start it with --enable-native-access=ALL-UNNAMED");
    }

    @Test
    void unsupportedSystemIsReported() throws Exception {
        assertSays(ask(CLASS_PATH, "-Dos.name=Mac OS X"), "the transport runs on Linux, and this is Mac OS X");
    }

    /** Runs in a separate mount namespace, in which the directory is mounted with the given options. */
    private String askWithTmp(String mountOptions) throws Exception {
        Path tmp = Files.createDirectory(directory.resolve("tmp"));
        String script = "mount -t tmpfs -o " + mountOptions + " tmpfs " + tmp + " && exec \"$@\"";
        List<String> command = new ArrayList<>(List.of("unshare", "--mount", "sh", "-c", script, "sh"));
        command.addAll(java(CLASS_PATH, Asker.class, "-Djava.io.tmpdir=" + tmp, "-XX:-UsePerfData"));
        return answer(command);
    }

    @Test
    @Tag("root")
    void libraryIsLoadedWithNoexecDirectory() throws Exception {
        assertSays(askWithTmp("noexec"), "available");
    }

    @Test
    @Tag("root")
    void libraryIsLoadedWithReadOnlyDirectory() throws Exception {
        assertSays(askWithTmp("ro"), "available");
    }

    /** Files in memory cannot be executed either: vm.memfd_noexec, a setting of the PID namespace. */
    @Test
    @Tag("root")
    void bothReasonsAreReportedIfNothingCanBeExecuted() throws Exception {
        Path setting = Path.of("/proc/sys/vm/memfd_noexec");
        assumeTrue(Files.exists(setting), "Linux before 6.3");
        Path tmp = Files.createDirectory(directory.resolve("tmp"));
        String script = "mount -t tmpfs -o noexec tmpfs " + tmp + " && mount -t proc proc /proc"
                + " && echo 2 >/proc/sys/vm/memfd_noexec && exec \"$@\"";
        List<String> command = new ArrayList<>(List.of("unshare", "--mount", "--pid", "--fork", "sh", "-c", script,
                "sh"));
        command.addAll(java(CLASS_PATH, Asker.class, "-Djava.io.tmpdir=" + tmp, "-XX:-UsePerfData"));
        assertSays(answer(command), "can be run neither from " + tmp, "failed to map segment", "nor from memory",
                "name another directory by -Djava.io.tmpdir", "-Dio.rdmaraw.softverbs.path");
    }
}
