// The site of scripts/site.sh: pages are the Markdown files of the repository, as they are.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { slug } from 'github-slugger'
import { defineConfig } from 'vitepress'
import { withMermaid } from 'vitepress-plugin-mermaid'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

const pagesOf = folder => readdirSync(join(root, folder)).filter(name => name.endsWith('.md')).sort()
  .map(name => `${folder}/${name.slice(0, -3)}`)

/** The pages of a folder, those that are named first. */
const inOrder = (folder, ...names) => [...new Set([...names.map(name => `${folder}/${name}`), ...pagesOf(folder)])]

const groups = {
  Start: ['docs/README'],
  Guide: [...inOrder('docs/guide', 'quickstart', 'agent', 'what-changes', 'frameworks', 'deploying', 'upgrades', 'broker', 'containers', 'cloud',
    'cards', 'capacity', 'monitoring', 'troubleshooting'), 'examples/README'],
  Reference: inOrder('docs/reference', 'supported', 'differences', 'settings', 'tcp-settings', 'options', 'interfaces', 'observability',
    'tools', 'errors', 'security', 'raw-frames'),
  Design: inOrder('docs/design', 'architecture', 'receiving-and-sending', 'addresses-and-rules', 'tcp', 'waiting'),
  Lab: inOrder('docs/lab', 'figures', 'notebook'),
  Project: ['CONTRIBUTING', 'CHANGELOG', 'SECURITY', 'GOVERNANCE', 'CODE_OF_CONDUCT'],
}

const heading = page => readFileSync(join(root, `${page}.md`), 'utf8').match(/^# (.*)$/m)[1].replaceAll('`', '')

/** A link to a source, which is no page of the site, becomes text; README.md is the first page. */
function pagesAlone(md) {
  md.core.ruler.push('pages-alone', state => {
    for (const token of state.tokens.filter(each => each.type === 'inline')) {
      let isDropped = false
      token.children = token.children.filter(child => {
        if (child.type === 'link_open') {
          isDropped = !resolve(child, state.env.relativePath)
        }
        return !isDropped || child.type !== 'link_open' && child.type !== 'link_close'
      })
    }
  })
}

/** Says whether a link leads to a page, and what of it differs from that of the repository. */
function resolve(link, from) {
  const [, name, anchor] = link.attrGet('href').match(/^([^#]*)(#.*)?$/)
  if (name === '' || /^[a-z]+:/.test(name)) {
    return true
  }
  const path = normalize(join(dirname(from), decodeURIComponent(name)))
  if (path === 'README.md') {
    link.attrSet('href', `/index.md${anchor ?? ''}`)
    return true
  }
  if (existsSync(join(root, 'public', path))) {
    // A file that is no page of VitePress: its router must not look for one.
    link.attrSet('target', '_self')
    return true
  }
  return path.endsWith('.md') && existsSync(join(root, path))
}

export default withMermaid(defineConfig({
  title: 'netty-transport-rdma-raw',
  description: 'A Netty 4.2 transport on RDMA verbs raw-packet queue pairs',
  lang: 'en',
  cleanUrls: false,
  // Pictures stand beside the pages, as in the repository.
  vue: { template: { transformAssetUrls: false } },
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  // The pages' own lines are higher than those that Mermaid has measured its boxes for.
  mermaid: { themeCSS: '.nodeLabel p { line-height: 1.5 !important; margin: 0 !important; }' },
  markdown: {
    anchor: { slugify: text => slug(text) },
    config: pagesAlone,
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: 'deep',
    nav: [
      { text: 'Javadoc', link: '/javadoc/index.html', target: '_self' },
      { text: 'Measurements', link: '/docs/lab/report.html', target: '_self' },
    ],
    sidebar: Object.entries(groups).map(([text, pages]) => ({
      text,
      items: pages.map(page => ({ text: heading(page), link: `/${page}` })),
    })),
  },
}))
