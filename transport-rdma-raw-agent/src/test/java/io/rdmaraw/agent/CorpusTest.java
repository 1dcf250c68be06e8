package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.MethodModel;
import java.lang.constant.ClassDesc;
import java.lang.reflect.AccessFlag;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/** Applies the agent to all classes of Netty, of Netty's tests, and of the frameworks in the tests. */
@Timeout(300)
class CorpusTest {
    private static final NettyNames NAMES = new NettyNames("io.netty");

    /** Loads a program's classes like the JVM, with or without the agent. */
    private static final class ProgramLoader extends URLClassLoader {
        private final boolean isRewriting;

        ProgramLoader(List<Path> places, boolean isRewriting) {
            super(places.stream().map(CorpusTest::url).toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
            this.isRewriting = isRewriting;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.startsWith("io.rdmaraw.")) {
                return CorpusTest.class.getClassLoader().loadClass(name);
            }
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = in.readAllBytes();
                byte[] rewritten = isRewriting ? rewrite(name, bytes, this) : null;
                byte[] used = rewritten == null ? bytes : rewritten;
                return defineClass(name, used, 0, used.length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static URL url(Path place) {
        try {
            return place.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the rewritten class, or null if the agent does not change it. */
    private static byte[] rewrite(String name, byte[] bytes, ClassLoader loader) {
        if (NAMES.isRewritten(name)) {
            return new NettyRewriter(NAMES, ProgramScan.hierarchy(loader)).rewrite(bytes);
        }
        if (NAMES.isTransport(name) || !NAMES.mayReferToType(new String(bytes, StandardCharsets.ISO_8859_1))) {
            return null;
        }
        try {
            return new CallerRewriter(NAMES, bytes, ProgramScan.hierarchy(loader),
                    new InterfaceMethods(loader::getResourceAsStream)).rewrite();
        } catch (CallerRewriter.NotRewritableException e) {
            return null;
        } catch (IllegalArgumentException e) {
            // The class refers to missing classes, so the JVM cannot link it either.
            return null;
        }
    }

    private static List<Path> jars(String directory) throws IOException {
        try (Stream<Path> files = Files.list(Path.of(directory))) {
            return files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
        }
    }

    /** Returns the JAR files of Netty and of the frameworks in the tests. */
    private static List<Path> libraries() {
        return Arrays.stream(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                .split(File.pathSeparator)).map(Path::of).filter(Files::isRegularFile)
                .filter(file -> !file.toString().contains("netty-transport-rdma-raw")).toList();
    }

    private static Map<String, byte[]> classesIn(List<Path> jars) throws IOException {
        Map<String, byte[]> classes = new TreeMap<>();
        for (Path place : jars) {
            try (JarFile jar = new JarFile(place.toFile())) {
                for (JarEntry entry : Collections.list(jar.entries())) {
                    String name = entry.getName();
                    if (name.endsWith(".class") && !name.startsWith("META-INF/") && !name.contains("-info")) {
                        byte[] bytes = jar.getInputStream(entry).readAllBytes();
                        if (new String(bytes, StandardCharsets.ISO_8859_1).contains(NAMES.internalPrefix())) {
                            classes.put(name.substring(0, name.length() - ".class".length()).replace('/', '.'), bytes);
                        }
                    }
                }
            }
        }
        return classes;
    }

    /** Returns the reason why the JVM cannot verify or link the class, or null if it can. */
    private static String link(String name, ClassLoader loader) {
        try {
            Class.forName(name, false, loader).getDeclaredMethods();
            return null;
        } catch (ClassNotFoundException | LinkageError e) {
            return e.toString();
        }
    }

    private static Set<String> members(ClassModel model, boolean isMapped) {
        Set<String> members = new HashSet<>();
        for (MethodModel method : model.methods()) {
            boolean isAdded = method.flags().has(AccessFlag.PRIVATE) && method.flags().has(AccessFlag.SYNTHETIC)
                    && method.methodName().stringValue().startsWith("rdmaraw$");
            String member = method.methodName().stringValue() + method.methodType().stringValue();
            if (!isAdded) {
                members.add(isMapped ? NAMES.mapped(member) : member);
            }
        }
        model.fields().forEach(field -> members.add(field.fieldName().stringValue()
                + (isMapped ? NAMES.mapped(field.fieldType().stringValue()) : field.fieldType().stringValue())));
        return members;
    }

    @Test
    void eachRewrittenClassLinksAndKeepsItsMembers() throws IOException {
        List<Path> places = new ArrayList<>(libraries());
        places.addAll(jars(System.getProperty("netty42.tests")));
        AtomicInteger rewritten = new AtomicInteger();
        Map<String, String> broken = new TreeMap<>();
        try (ProgramLoader alone = new ProgramLoader(places, false);
                ProgramLoader withAgent = new ProgramLoader(places, true)) {
            classesIn(places).forEach((name, bytes) -> {
                byte[] changed = rewrite(name, bytes, alone);
                if (changed == null) {
                    return;
                }
                rewritten.incrementAndGet();
                if (!NAMES.isMultiThreadGroup(ClassDesc.of(name))) {
                    assertEquals(members(ClassFile.of().parse(bytes), true),
                            members(ClassFile.of().parse(changed), false), name);
                }
                if (link(name, alone) == null && link(name, withAgent) != null) {
                    broken.put(name, link(name, withAgent));
                }
            });
        }
        assertEquals(Map.of(), broken);
        assertTrue(rewritten.get() >= 15, rewritten + " classes");
    }

    /**
     * A class that needs Netty's own channels would keep the whole program on kernel sockets, even if it is never used.
     */
    @Test
    void noFrameworkHasAClassThatNeedsNettysOwnChannels() throws IOException {
        Map<String, String> reasons = new TreeMap<>();
        try (ProgramLoader program = new ProgramLoader(libraries(), false)) {
            for (Path place : libraries()) {
                String reason = new ProgramScan(NAMES, program).refusalReason(url(place));
                if (reason != null) {
                    reasons.put(place.getFileName().toString(), reason);
                }
            }
        }
        assertEquals(Map.of(), reasons);
    }

    @Test
    void noClassIsChangedBesideNetty41() throws IOException {
        List<Path> places = new ArrayList<>(jars(System.getProperty("netty41")));
        CallerTransformer transformer = new CallerTransformer(List.of(NAMES),
                new AgentReport(AgentOptions.parse("device=soft:loop")));
        try (ProgramLoader program = new ProgramLoader(places, false)) {
            Map<String, byte[]> classes = classesIn(places);
            classes.forEach((name, bytes) -> assertNull(transformer.transform(null, program,
                    name.replace('.', '/'), null, null, bytes), name));
            assertTrue(classes.size() > 500, classes.size() + " classes");
        }
    }
}
