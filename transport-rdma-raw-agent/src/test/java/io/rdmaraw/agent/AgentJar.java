package io.rdmaraw.agent;

import io.rdmaraw.channel.RdmaRaw;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The agent's JAR file, assembled like the build's from the classes of the test, and commands that run programs with
 * it.
 */
final class AgentJar {
    private static final String LIBRARY = "META-INF/native/libsoftverbs_linux_x86_64.so";
    private static final String MANIFEST = "Manifest-Version: 1.0\nPremain-Class: io.rdmaraw.agent.Premain\n\n";

    private static final Pattern PROGRAM = Pattern.compile("program\\.(\\w+)");

    private final Path file;

    AgentJar(Path directory) throws IOException {
        file = directory.resolve("agent.jar");
        try (OutputStream out = Files.newOutputStream(file); JarOutputStream jar = new JarOutputStream(out)) {
            add(jar, "META-INF/MANIFEST.MF", MANIFEST.getBytes());
            addAll(jar, placeOf(Agent.class));
            add(jar, "META-INF/rdmaraw/transport.jar", jarOf(placeOf(RdmaRaw.class)));
            add(jar, "META-INF/rdmaraw/native.jar", jarOf(placeOfLibrary()));
        }
    }

    private static Path placeOf(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Path placeOfLibrary() {
        URL library = RdmaRaw.class.getClassLoader().getResource(LIBRARY);
        String url = library.toString();
        String place = url.startsWith("jar:") ? url.substring("jar:".length(), url.indexOf('!'))
                : url.substring(0, url.length() - LIBRARY.length());
        return Path.of(URI.create(place));
    }

    private static byte[] jarOf(Path place) throws IOException {
        if (Files.isRegularFile(place)) {
            return Files.readAllBytes(place);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JarOutputStream jar = new JarOutputStream(bytes)) {
            addAll(jar, place);
        }
        return bytes.toByteArray();
    }

    private static void addAll(JarOutputStream jar, Path directory) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(directory)) {
            files = all.filter(Files::isRegularFile).sorted().toList();
        }
        for (Path each : files) {
            String name = directory.relativize(each).toString();
            if (!name.startsWith("META-INF/rdmaraw/")) {
                add(jar, name, Files.readAllBytes(each));
            }
        }
    }

    private static void add(JarOutputStream jar, String name, byte[] content) throws IOException {
        jar.putNextEntry(new JarEntry(name));
        jar.write(content);
        jar.closeEntry();
    }

    /** Returns the JVM option that starts the agent. */
    String option(String agentOptions) {
        return "-javaagent:" + file + "=" + agentOptions;
    }

    /**
     * Returns a command that runs a class without this project on the class path. The named programs, whether main
     * class or arguments, are copied to a separate directory, because the agent examines all classes of a directory.
     */
    static List<String> java(List<String> jvmOptions, String mainClass, String... arguments) {
        Set<String> ours = new TreeSet<>();
        for (Path place : List.of(placeOf(Agent.class), placeOf(RdmaRaw.class), placeOfLibrary(),
                placeOf(AgentJar.class))) {
            ours.add(place.toString());
        }
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> others = Arrays.stream(classPath.split(File.pathSeparator))
                .filter(entry -> !ours.contains(Path.of(entry).toAbsolutePath().toString())).toList();
        return java(jvmOptions, others, mainClass, arguments);
    }

    /** Returns the same command with other libraries on the class path. */
    static List<String> java(List<String> jvmOptions, List<String> libraries, String mainClass, String... arguments) {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java")
                .toString(), "--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dio.netty.leakDetection.level=paranoid"));
        command.addAll(jvmOptions);
        List<String> places = new ArrayList<>(libraries);
        places.add(placeOfPrograms(mainClass, arguments).toString());
        command.addAll(List.of("-cp", String.join(File.pathSeparator, places), mainClass));
        command.addAll(List.of(arguments));
        return command;
    }

    /** Replaces the file at once, because a program of this process or of another one may be loading the class. */
    private static void copyIfNew(Path from, Path to, Path programs) throws IOException {
        if (Files.exists(to) && Files.mismatch(from, to) < 0) {
            return;
        }
        Path copy = Files.createTempFile(programs, "copy", null);
        Files.copy(from, copy, StandardCopyOption.REPLACE_EXISTING);
        Files.move(copy, to, StandardCopyOption.ATOMIC_MOVE);
    }

    private static Path placeOfPrograms(String mainClass, String... arguments) {
        Set<String> names = new TreeSet<>(List.of("Echo"));
        Matcher matcher = PROGRAM.matcher(mainClass + " " + String.join(" ", arguments));
        while (matcher.find()) {
            names.add(matcher.group(1));
        }
        Path classes = placeOf(AgentJar.class);
        Path programs = classes.resolveSibling("programs");
        Path place = programs.resolve(String.join("-", names)).resolve("program");
        try (Stream<Path> all = Files.list(classes.resolve("program"))) {
            Files.createDirectories(place);
            for (Path each : all.toList()) {
                if (names.contains(each.getFileName().toString().replaceAll("[$.].*", ""))) {
                    copyIfNew(each, place.resolve(each.getFileName()), programs);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return place.getParent();
    }
}
