"""Words that the classifier knows: what routine requests are about and what surrounds them.

Every entry is written as `fold` leaves it (lower case, no accents, n for n-tilde), one word or a
phrase of several; commas and line ends part the entries.  The longest entry that fits wins, so
`zip code` hides `code`, and `how do you say` hides `how do you`.  Lists grow by example: first a
line in tests/router/corpus.toml, then the word here.
"""

from typing import Final


def entries(block: str) -> frozenset[str]:
    """The words and phrases of a block, parted by commas and line ends."""
    found = (" ".join(entry.split()) for line in block.splitlines() for entry in line.split(","))
    return frozenset(entry for entry in found if entry)


def words(block: str) -> frozenset[str]:
    """The single words of a block."""
    return frozenset(block.split())


# -- what routine requests are about ---------------------------------------------------------------

THINGS: Final = words("""
    file files folder folders directory email emails mail mails inbox message messages contact
    contacts phone address addresses invoice invoices receipt receipts order orders package parcel
    calendar meeting meetings appointment appointments event events reminder reminders alarm
    alarms timer timers note notes light lights lamp tv television radio music song songs playlist
    volume heating thermostat temperature door doors window windows server servers service
    services nginx backup backups build builds test tests job jobs process processes disk battery
    printer log logs wifi network connection status date dates weather ticket tickets task tasks
    todo shopping grocery groceries tab tabs browser app screen microphone camera session sessions
    download downloads upload report photo photos picture pictures video videos document documents
    attachment flight flights password birthday account page

    ficheiro ficheiros arquivo arquivos pasta pastas correio mensagem mensagens contacto contactos
    contato contatos telefone morada endereco fatura faturas recibo encomenda encomendas pedido
    pedidos calendario reuniao reunioes compromisso compromissos evento eventos lembrete lembretes
    alarme temporizador nota notas luz luzes lampada televisao musica musicas cancao aquecimento
    temperatura porta portas janela janelas servidor servidores servico copia teste testes
    processo processos disco bateria impressora registo registos rede estado data datas tarefa
    tarefas compras separador navegador aplicacao ecra tela microfone camara sessao sessoes
    relatorio foto fotos imagem documento documentos anexo voo consulta consultas senha conta
    pagina

    archivo carpeta carpetas correo correos mensaje mensajes telefono direccion factura facturas
    reunion reuniones cita citas recordatorio alarma alarmas luces lampara cancion calefaccion
    puerta puertas ventana ventanas servicio prueba pruebas proceso procesos red fecha fechas
    tarea tareas compra pestana aplicacion pantalla sesion sesiones informe adjunto vuelo
    contrasena cuenta
""")
"""What can be looked up, watched or switched without thinking."""

LISTS: Final = words("""
    list lists column columns row rows line lines item items entry entries lista listas coluna
    colunas linha linhas itens columna columnas linea lineas elementos
""")
"""What can be added to, emptied or opened, but is no thing to look up: a list of what?"""

PARTS: Final = words("""
    text texts sentence sentences paragraph word words name names number numbers url urls link
    links json csv xml yaml table list line lines item items email emails phone date dates address
    addresses texto textos frase frases palavra palavras nome nomes numero numeros tabela lista
    linha linhas itens telefone data datas morada palabra palabras nombre nombres tabla linea
    lineas elementos correos telefono fecha fechas direccion
""")
"""What is found inside given text."""

CREATED: Final = words("""
    file files folder directory note reminder event alarm timer appointment meeting session
    playlist volume thermostat temperature brightness heating

    ficheiro arquivo pasta nota lembrete evento alarme temporizador reuniao sessao volume
    temperatura

    archivo carpeta recordatorio alarma reunion cita sesion despertador
""")

FORMS: Final = words("""
    uppercase lowercase capitals capital bold italics bullet bullets bulleted numbered table json
    csv xml yaml html markdown shorter alphabetical alphabetically upper lower case list column
    columns maiusculas minusculas negrito tabela topicos lista alfabetica curta curto ordem
    mayusculas negrita tabla vinetas alfabetico corta corto
""")

LABELS: Final = words("""
    spam phishing urgent important junk positive negative complaint question bug urgente
    importante positivo positiva negativo negativa lixo basura erro error queja reclamacao
""")

STATES: Final = words("""
    up down online offline running ready done finished finish passed pass failed fail green red
    available active alive connected full on off open closed locked charged complete completed ar
    ligado ligada desligado desligada ativo ativa disponivel pronto pronta terminado terminou
    acabou funcionando correr rodando cheio cheia aberto aberta fechado fechada bloqueado
    carregado activo activa disponible listo terminada encendido encendida apagado apagada lleno
    llena abierto abierta cerrado cerrada cargado completo
""")

LANGUAGES: Final = words("""
    english portuguese spanish french german italian dutch ingles portugues espanhol frances
    alemao italiano castelhano espanol aleman castellano
""")

UNITS: Final = words("""
    km kilometers kilometres miles mile m meters metres cm mm inch inches feet ft yards kg kilos
    kilograms grams g pounds lb lbs ounces oz celsius fahrenheit c f litres liters l ml gallons
    hours minutes seconds days weeks mb gb kb euros eur dollars usd quilometros milhas metros
    polegadas pes quilos gramas libras litros horas minutos segundos dias kilometros millas
    pulgadas pies gramos
""")

POINTERS: Final = words("""
    this that these those it following above below previous last isto isso este esta estes estas
    esse essa esses essas deste desta destes destas disto neste nesta seguinte seguintes anterior
    ultima ultimo acima abaixo esto eso estos siguiente siguientes ese esa esos esas
""")
"""Words that point at given text, in this prompt or in the conversation."""

# -- what surrounds a request ----------------------------------------------------------------------

OPENERS: Final = words("and then please e y entonces favor pls luego depois")
"""After one of these a new clause begins."""

CHAIN: Final = words("""
    hi hello hey ok okay so can could would will you i d ll want need like to kindly just quickly
    now let us also mead me my ola oi bom podes pode poderias poderia podias podia queria quero
    preciso que tu voce agora hola puedes puede podrias podria quiero necesito usted ahora tambem
    tambien por se eu yo
""")
"""Words that may stand between the beginning of a clause and its verb."""

ADDITIVE: Final = words("""
    also then afterwards finally next additionally furthermore lastly tambem depois seguida
    finalmente alem tambien despues luego ademas
""")
"""Words with which a request goes on behind given text."""

AGAIN: Final = words("""
    now please pls agora ahora porfavor kindly
""")
"""Words with which the person speaks again behind given text."""

POLITE: Final = words("""
    please pls kindly just can could would will you me us let s lets por favor pode podes podia
    podias poderia poderias tu voce puede puedes podria podrias usted
""")
"""Words that may stand before an order, in given text too."""

ASKING: Final = POLITE | OPENERS | ADDITIVE | AGAIN
"""Words that may stand between the beginning of a clause and an order to reason."""

OBJECTS: Final = POINTERS | words("""
    the a an them it each both all why how which what whether if your my their its his her to for
    everything between with in

    o os as um uma cada como porque por qual quais se tudo todos todas lhe me entre com em

    el la los las lo un una cual cuales si todo entre con en
""")
"""Words with which begins what an order is done to."""

SWITCHES: Final = words("on off up down")

ABBREVIATIONS: Final = words("mr mrs ms dr dra sr sra st no etc eg ie prof")
"""A full stop behind one of these ends no sentence."""

PLAIN: Final = words("""
    a an the to of in on at for from by with as is are was be been does did has have had my your
    our their his her you i we they he she him them us all every each any some no not or if than
    but about into out over there here who what when where whose whether only more last next new
    old first second today tomorrow yesterday morning evening night monday tuesday wednesday
    thursday friday saturday sunday week month year day am pm t re ve get got one two three much
    many left

    o os as um uma uns umas de do da dos das no na nos nas em para pelo pela com ou quem qual
    quais quando onde como meu minha meus minhas teu tua seu sua ele ela ao aos nao sim hoje
    amanha ontem segunda terca quarta quinta sexta sabado domingo hora horas dia semana mes ano
    novo nova novos novas primeiro mais forma

    el la los las un unos unas del al en y con sin lo les mi mis tu tus su sus es son hoy manana
    ayer lunes martes miercoles jueves viernes nuevo nueva nuevos nuevas ultimas primer primero
    mas
""")
"""Words that say nothing by themselves."""
